import type { SeriesName } from './api.ts';
import { Plot } from './chart/plot.ts';
import { append, h, setAttribute, setText } from './dom.ts';
import { figure } from './format.ts';
import type { SeriesWindow } from './live/series.ts';

export interface Line {
  name: SeriesName;
  label: string;
  /** A colour of the style sheet. */
  colour: string;
}

export interface Chart {
  element: HTMLElement;
  draw(): void;
}

/**
 * A titled chart. Its legend says the latest values, or those under the pointer; the name of its
 * drawing says the latest ones, for those who cannot see the lines.
 */
export function chart(
  title: string, unit: string, lines: Line[], series: SeriesWindow, signal: AbortSignal): Chart {
  const legend = h('ul', { class: 'legend' });
  const values = lines.map((line) => {
    const value = h('strong', {}, '–');
    legend.append(h('li', {}, h('span', { class: 'swatch', 'data-colour': line.colour }),
      line.label, ' ', value, unit && ` ${unit}`));
    return value;
  });
  const plot = new Plot(lines.map(({ colour }) => colour), unit);
  const box = h('div', { class: 'plot', role: 'img' }, plot.element);
  const element = h('figure', { class: 'card' },
    h('figcaption', {}, h('h2', {}, title), legend), box);

  let pointer: number | null = null;
  const read = (): void => {
    const at = plot.mark(pointer);
    lines.forEach(({ name }, i) => {
      const value = values[i];
      if (value) setText(value, figure(at === null ? series.latest(name) : series.column(name)[at]));
    });
  };
  const draw = (): void => {
    setAttribute(box, 'aria-label', `${title}: ` + lines.map(({ name, label }) =>
      `${label} ${figure(series.latest(name))} ${unit}`.trim()).join(', '));
    plot.draw({ span: series.span(Date.now()), times: series.times,
      columns: lines.map(({ name }) => series.column(name)) }, box.clientWidth);
    read();
  };
  const point = (event: PointerEvent): void => {
    pointer = event.clientX - box.getBoundingClientRect().left;
    read();
  };
  box.addEventListener('pointerdown', point);
  box.addEventListener('pointermove', point);
  box.addEventListener('pointerleave', () => {
    pointer = null;
    read();
  });
  const observer = new ResizeObserver(draw);
  observer.observe(box);
  signal.addEventListener('abort', () => observer.disconnect());
  draw();
  return { element, draw };
}

export const heartbeatChart = (series: SeriesWindow, signal: AbortSignal): Chart =>
  chart('Heartbeat latency', 'ms', [
    { name: 'heartbeatP50Ms', label: 'p50', colour: 'plot-1' },
    { name: 'heartbeatP95Ms', label: 'p95', colour: 'plot-2' },
    { name: 'heartbeatP99Ms', label: 'p99', colour: 'plot-3' },
  ], series, signal);

/** Adds charts to a page, all on one window of time. */
export function chartsOf(series: SeriesWindow, signal: AbortSignal, root: Element): Chart[] {
  const charts = [
    heartbeatChart(series, signal),
    chart('Heartbeats per batch', '', [
      { name: 'batchSize', label: 'batch size', colour: 'plot-1' }], series, signal),
    chart('Commits', 'per second', [
      { name: 'commitsPerSecond', label: 'commits', colour: 'plot-2' }], series, signal),
    chart('Watchers', '', [
      { name: 'watchers', label: 'watchers', colour: 'plot-1' }], series, signal),
  ];
  append(root, ...charts.map(({ element }) => element));
  return charts;
}
