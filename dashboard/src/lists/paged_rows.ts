// Rows of a long list that lives on the server, fetched page by page as they come into view.

export interface Page<T> {
  total: number;
  rows: T[];
}

interface Held<T> {
  rows: T[];
  fresh: boolean;
}

/**
 * Keeps the pages that were looked at. A page that is out of date is shown until its successor is
 * there, so that nothing flickers. At most two requests are under way; while they are, only the
 * latest range that was asked for is remembered, so that scrolling through ten thousand rows asks
 * for the pages where it ends, not for all of them. Forgets pages far from the range beyond a bound.
 */
export class PagedRows<T> {
  total = 0;
  loaded = false;
  private pages = new Map<number, Held<T>>();
  private underWay = new Set<number>();
  private wanted: [number, number] = [0, 0];
  private query = 0;
  private static readonly requestsMax = 2;
  private static readonly pagesMax = 25;

  constructor(
    private readonly size: number,
    private readonly fetchPage: (offset: number, limit: number) => Promise<Page<T>>,
    private readonly onChange: () => void,
    private readonly onError: (error: unknown) => void) {}

  row(index: number): T | undefined {
    return this.pages.get(Math.floor(index / this.size))?.rows[index % this.size];
  }

  /** Rows `first` to `last` (not included) are looked at. */
  want(first: number, last: number): void {
    this.wanted = [first, last];
    this.fill();
  }

  /** Everything may have changed on the server; what is looked at is fetched again. */
  outdate(): void {
    for (const page of this.pages.values()) page.fresh = false;
    this.fill();
  }

  /** Another question: answers to the old one no longer count. */
  restart(): void {
    this.query += 1;
    this.underWay.clear();
    for (const page of this.pages.values()) page.fresh = false;
    // The old rows stay on the screen until the first new page comes, and only those.
    this.loaded = false;
    this.fill();
  }

  /** Replaces rows in place, without asking the server. */
  replace(change: (row: T) => T | undefined): void {
    let changed = false;
    for (const page of this.pages.values()) {
      page.rows.forEach((row, i) => {
        const next = change(row);
        if (next === undefined) return;
        page.rows[i] = next;
        changed = true;
      });
    }
    if (changed) this.onChange();
  }

  private fill(): void {
    const [first, last] = this.wanted;
    const end = Math.max(first + 1, this.loaded ? Math.min(last, this.total) : last);
    for (let page = Math.floor(first / this.size); page * this.size < end; page += 1) {
      if (this.underWay.size >= PagedRows.requestsMax) return;
      if (!this.pages.get(page)?.fresh && !this.underWay.has(page)) void this.load(page);
    }
  }

  private async load(page: number): Promise<void> {
    const query = this.query;
    this.underWay.add(page);
    try {
      const answer = await this.fetchPage(page * this.size, this.size);
      if (query !== this.query) return;
      if (!this.loaded) this.pages.clear();
      this.loaded = true;
      this.total = answer.total;
      this.pages.set(page, { rows: answer.rows, fresh: true });
      this.forgetFarPages(page);
      this.underWay.delete(page);
      this.onChange();
      this.fill();
    } catch (error) {
      // Not tried again by itself: the next look at the list, or the feed, does that.
      if (query === this.query) {
        this.underWay.delete(page);
        this.onError(error);
      }
    }
  }

  private forgetFarPages(near: number): void {
    while (this.pages.size > PagedRows.pagesMax) {
      let far = near;
      for (const page of this.pages.keys()) {
        if (Math.abs(page - near) > Math.abs(far - near)) far = page;
      }
      this.pages.delete(far);
    }
  }
}
