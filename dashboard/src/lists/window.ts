/** Which rows of a long list are on the screen. */
export interface RowWindow {
  first: number;
  last: number;
}

/** Rows in view plus `spare` on either side, so that a short scroll shows no empty row. Pure. */
export function rowWindow(
  scrolled: number, height: number, rowHeight: number, count: number, spare: number): RowWindow {
  const top = Math.floor(Math.max(0, scrolled) / rowHeight);
  const shown = Math.ceil(height / rowHeight) + 1;
  const first = Math.max(0, Math.min(top, count - shown) - spare);
  return { first, last: Math.min(count, Math.max(top, 0) + shown + spare) };
}

/** Where to scroll so that `row` is wholly in view; unchanged when it already is. Pure. */
export function scrollToShow(
  row: number, scrolled: number, height: number, rowHeight: number): number {
  const top = row * rowHeight;
  if (top < scrolled) return top;
  if (top + rowHeight > scrolled + height) return top + rowHeight - height;
  return scrolled;
}

/** The row that a key leads to from `row`; null for keys that move nothing. Pure. */
export function rowAfterKey(key: string, row: number, count: number, page: number): number | null {
  const steps: Record<string, number> = {
    ArrowDown: row + 1, ArrowUp: row - 1, PageDown: row + page, PageUp: row - page,
    Home: 0, End: count - 1,
  };
  const next = steps[key];
  return next === undefined || count === 0 ? null : Math.max(0, Math.min(count - 1, next));
}
