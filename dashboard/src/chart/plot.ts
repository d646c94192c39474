import { s, setAttribute, setText } from '../dom.ts';
import { clock } from '../format.ts';
import { linePath, nearest, scale, timeTicks, valueLabels, valueTicks } from './scale.ts';

/** What is drawn: one column of values for each line, on one axis of time in milliseconds. */
export interface Curves {
  span: [number, number];
  times: number[];
  columns: (number | null)[][];
}

/** How tall the drawing is; its width is that of its box. */
const height = 190;
/** The room for what is written around the lines. */
const margin = { top: 22, right: 18, bottom: 24, left: 46 };
/** How far apart two ticks of an axis are at least, so that their labels do not touch. */
const apart = { time: 54, value: 28 };

/**
 * Lines over time with their axes, as an SVG. It takes its colours from the style sheet, so that a
 * theme, a screen with finer pixels and a printer need nothing from here.
 */
export class Plot {
  private readonly grid = s('g', { class: 'plot-grid' });
  private readonly lines: SVGPathElement[];
  private readonly dots: SVGCircleElement[];
  private readonly rule = s('line', { class: 'plot-rule', y1: margin.top, y2: height - margin.bottom });
  private readonly time = s('text', { class: 'plot-time', y: 12 });
  private readonly cursor: SVGGElement;
  readonly element: SVGSVGElement;
  /** What was drawn last: where each sample stands, and the heights of its values. */
  private xs: number[] = [];
  private ys: (number | null)[][] = [];
  private times: number[] = [];

  /** `colours` are names of the style sheet, one for each line. */
  constructor(colours: readonly string[], private readonly unit: string) {
    this.lines = colours.map((colour) => s('path', { class: 'plot-line', 'data-colour': colour }));
    this.dots = colours.map((colour) => s('circle', { class: 'plot-dot', 'data-colour': colour, r: 3.5 }));
    this.cursor = s('g', { visibility: 'hidden' }, this.rule, ...this.dots, this.time);
    // A sheet of paper has another width than the window, and nobody is told: there the drawing is fitted.
    this.element = s('svg', { class: 'plot-svg', 'aria-hidden': 'true', preserveAspectRatio: 'xMinYMin' },
      this.grid, ...this.lines, this.cursor);
  }

  draw({ span: [from, to], times, columns }: Curves, width: number): void {
    const [left, right] = [margin.left, width - margin.right];
    const [top, bottom] = [margin.top, height - margin.bottom];
    if (right <= left) return;
    const highest = columns.flat().reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
    const ticks = valueTicks(highest, Math.floor((bottom - top) / apart.value));
    const x = scale(from, to, left, right);
    const y = scale(0, ticks.at(-1) ?? 1, bottom, top);
    const labels = valueLabels(ticks);
    const zoneMs = -new Date(to).getTimezoneOffset() * 60_000;

    setAttribute(this.element, 'viewBox', `0 0 ${width} ${height}`);
    this.grid.replaceChildren(
      ...ticks.map((tick) => s('line', { x1: left, x2: right, y1: crisp(y(tick)), y2: crisp(y(tick)) })),
      ...ticks.map((tick, i) =>
        s('text', { class: 'plot-value', x: left - 8, y: y(tick), dy: '0.35em' }, labels[i])),
      ...timeTicks(from, to, Math.floor((right - left) / apart.time), zoneMs).flatMap((tick) => [
        s('line', { x1: crisp(x(tick)), x2: crisp(x(tick)), y1: top, y2: bottom }),
        s('text', { class: 'plot-clock', x: x(tick), y: height - 7 }, clock(tick, tick).slice(0, 5))]),
      s('text', { class: 'plot-unit', x: 8, y: 12 }, this.unit));
    setAttribute(this.time, 'x', right);

    this.times = times;
    this.xs = times.map(x);
    this.ys = columns.map((column) => column.map((value) => value === null ? null : y(value)));
    this.lines.forEach((line, i) => setAttribute(line, 'd', linePath(this.xs, this.ys[i] ?? [])));
  }

  /** Marks the sample nearest to a place from the left, and tells which it is; with null, none. */
  mark(place: number | null): number | null {
    const at = place === null ? null : nearest(this.xs, place);
    setAttribute(this.cursor, 'visibility', at === null ? 'hidden' : undefined);
    if (at === null) return null;
    const x = this.xs[at] ?? 0;
    const timeMs = this.times[at] ?? 0;
    setAttribute(this.rule, 'x1', x);
    setAttribute(this.rule, 'x2', x);
    setText(this.time, clock(timeMs, timeMs));
    this.dots.forEach((dot, i) => {
      const y = this.ys[i]?.[at] ?? null;
      setAttribute(dot, 'visibility', y === null ? 'hidden' : undefined);
      setAttribute(dot, 'cx', x);
      setAttribute(dot, 'cy', y ?? 0);
    });
    return at;
  }
}

/** The middle of a pixel: there, a line of one pixel covers one, not two halves. */
const crisp = (value: number): number => Math.floor(value) + 0.5;
