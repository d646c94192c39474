import { h, setAttribute, setText } from '../dom.ts';
import { rowAfterKey, rowWindow, scrollToShow, type RowWindow } from './window.ts';

export interface Column<T> {
  name: string;
  label: string;
  /** The word that the server sorts by; columns without one cannot be sorted. */
  sort?: string;
  /** Makes what the cell holds, once per cell. */
  make?: (cell: HTMLElement) => void;
  /** Shows a row in the cell; called often, so it writes only what differs. */
  show: (cell: HTMLElement, row: T) => void;
}

export interface GridOptions<T> {
  name: string;
  label: string;
  rowHeight: number;
  columns: Column<T>[];
  row: (index: number) => T | undefined;
  onWindow?: (window: RowWindow) => void;
  onOpen?: (row: T, index: number) => void;
  onActive?: (row: T | undefined) => void;
  onSort?: (by: string) => void;
}

/** Rows kept ready above and below what is seen. */
const spareRows = 8;

/**
 * A list of any length of which only the rows in view exist. Rows have one height and fixed places,
 * so showing other rows moves nothing. The grid is one stop of the Tab key; arrow keys, Page, Home and
 * End choose a row, Enter opens it.
 */
export class Grid<T> {
  readonly element: HTMLElement;
  private readonly sizer: HTMLElement;
  private readonly body: HTMLElement;
  private readonly head: HTMLElement;
  private readonly rows: { element: HTMLElement; cells: HTMLElement[] }[] = [];
  private count = 0;
  private active = -1;
  private drawn: RowWindow = { first: 0, last: 0 };
  private planned = false;
  private height = 0;
  private headHeight = 0;

  constructor(private readonly options: GridOptions<T>, signal: AbortSignal) {
    this.head = this.makeHead();
    this.body = h('div', { class: 'grid-body', role: 'rowgroup' });
    this.sizer = h('div', { class: 'grid-sizer', role: 'presentation' }, this.body);
    this.element = h('div', {
      class: `grid grid-${options.name}`, role: 'grid', tabindex: 0, 'aria-label': options.label,
      'aria-readonly': 'true', 'aria-colcount': options.columns.length,
    }, h('div', { class: 'grid-head', role: 'rowgroup' }, this.head), this.sizer);
    this.element.addEventListener('scroll', () => this.plan(), { passive: true });
    this.element.addEventListener('keydown', (event) => this.onKey(event));
    this.body.addEventListener('click', (event) => this.onClick(event));
    const observer = new ResizeObserver(() => this.measure());
    observer.observe(this.element);
    signal.addEventListener('abort', () => observer.disconnect());
  }

  setCount(count: number): void {
    if (count !== this.count) {
      this.count = count;
      setAttribute(this.element, 'aria-rowcount', count + 1);
      this.sizer.style.height = `${count * this.options.rowHeight}px`;
      if (this.active >= count) this.active = -1;
    }
    this.plan();
  }

  showSort(by: string, descending: boolean): void {
    for (const cell of Array.from(this.head.children)) {
      const sorts = cell.getAttribute('data-sort') === by;
      if (cell.hasAttribute('data-sort')) {
        setAttribute(cell, 'aria-sort', sorts ? (descending ? 'descending' : 'ascending') : 'none');
      }
    }
  }

  toTop(): void {
    this.element.scrollTop = 0;
  }

  /** Rows came in above all others: a reader further down keeps the place. */
  grewAtTop(rows: number): void {
    if (this.active >= 0) this.active += rows;
    if (this.element.scrollTop > 0) this.element.scrollTop += rows * this.options.rowHeight;
  }

  /** Chooses a row without opening it, and brings it into view unless told not to; -1: none. */
  choose(index: number, reveal = true): void {
    this.active = index;
    if (index >= 0 && reveal) {
      this.element.scrollTop = scrollToShow(index, this.element.scrollTop,
        this.height - this.headHeight, this.options.rowHeight);
    }
    this.plan();
  }

  /** Draws once per frame, however often it is asked to. */
  plan(): void {
    if (this.planned) return;
    this.planned = true;
    requestAnimationFrame(() => {
      this.planned = false;
      this.draw();
    });
  }

  private measure(): void {
    this.height = this.element.clientHeight;
    this.headHeight = this.head.offsetHeight;
    this.plan();
  }

  private makeHead(): HTMLElement {
    const head = h('div', { class: 'grid-row', role: 'row', 'aria-rowindex': 1 });
    for (const column of this.options.columns) {
      const { sort } = column;
      head.append(h('div', {
        role: 'columnheader', class: `col-${column.name}`, 'data-sort': sort,
        'aria-sort': sort === undefined ? undefined : 'none',
      }, sort === undefined ? column.label
        : h('button', { type: 'button', onclick: () => this.options.onSort?.(sort) },
          column.label)));
    }
    return head;
  }

  private makeRow(): void {
    const cells = this.options.columns.map((column) => {
      const cell = h('div', { role: 'gridcell', class: `col-${column.name}` });
      column.make?.(cell);
      return cell;
    });
    const element = h('div', { class: 'grid-row', role: 'row' }, ...cells);
    element.id = `${this.options.name}-row-${this.rows.length}`;
    this.rows.push({ element, cells });
    this.body.append(element);
  }

  private draw(): void {
    const { rowHeight } = this.options;
    const view = rowWindow(this.element.scrollTop, this.height, rowHeight, this.count, spareRows);
    const shown = view.last - view.first;
    while (this.rows.length < shown) this.makeRow();
    this.body.style.transform = `translateY(${view.first * rowHeight}px)`;
    this.rows.forEach((_, i) => this.drawRow(i, view.first + i, i < shown));
    const chosen = this.active - view.first;
    setAttribute(this.element, 'aria-activedescendant',
      chosen >= 0 && chosen < shown ? this.rows[chosen]?.element.id : undefined);
    if (view.first !== this.drawn.first || view.last !== this.drawn.last) {
      this.drawn = view;
      this.options.onWindow?.(view);
    }
  }

  private drawRow(slot: number, index: number, shown: boolean): void {
    const view = this.rows[slot];
    if (!view) return;
    const { element, cells } = view;
    element.hidden = !shown;
    if (!shown) return;
    const row = this.options.row(index);
    setAttribute(element, 'aria-rowindex', index + 2);
    setAttribute(element, 'aria-selected', index === this.active ? 'true' : 'false');
    setAttribute(element, 'data-odd', index % 2 === 1);
    setAttribute(element, 'data-empty', row === undefined);
    if (row !== undefined) {
      this.options.columns.forEach((column, i) => {
        const cell = cells[i];
        if (cell) column.show(cell, row);
      });
    }
  }

  private onKey(event: KeyboardEvent): void {
    if (event.target !== this.element || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === 'Enter' || event.key === ' ') {
      const row = this.options.row(this.active);
      if (row !== undefined) this.options.onOpen?.(row, this.active);
      event.preventDefault();
      return;
    }
    const page = Math.max(1, Math.floor((this.height - this.headHeight) / this.options.rowHeight) - 1);
    const next = rowAfterKey(event.key, this.active, this.count, page);
    if (next === null) return;
    event.preventDefault();
    this.choose(next);
    this.options.onActive?.(this.options.row(next));
  }

  private onClick(event: Event): void {
    const element = (event.target as Element).closest('.grid-row');
    const slot = this.rows.findIndex((row) => row.element === element);
    if (slot < 0) return;
    const index = this.drawn.first + slot;
    const row = this.options.row(index);
    if (row === undefined) return;
    this.choose(index);
    this.options.onActive?.(row);
    this.options.onOpen?.(row, index);
  }
}

/** A column that shows one text. */
export function textColumn<T>(
  name: string, label: string, text: (row: T) => string, sort?: string): Column<T> {
  return { name, label, show: (cell, row) => setText(cell, text(row)), ...(sort && { sort }) };
}
