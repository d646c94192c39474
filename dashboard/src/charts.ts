import uPlot from 'uplot';
import type { SeriesName } from './api.ts';
import { append, h, setAttribute, setText } from './dom.ts';
import { figure } from './format.ts';
import type { SeriesWindow } from './live/series.ts';
import { colour, themeChanged } from './theme.ts';

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

const height = 190;

/** A titled chart whose caption says the latest values, for those who cannot see the lines. */
export function chart(
  title: string, unit: string, lines: Line[], series: SeriesWindow, signal: AbortSignal): Chart {
  const legend = h('ul', { class: 'legend' });
  const values = lines.map((line) => {
    const value = h('strong', {}, '–');
    legend.append(h('li', {}, h('span', { class: 'swatch', 'data-colour': line.colour }),
      line.label, ' ', value, unit && ` ${unit}`));
    return value;
  });
  const box = h('div', { class: 'plot', role: 'img' });
  const element = h('figure', { class: 'card' },
    h('figcaption', {}, h('h2', {}, title), legend), box);

  let plot: uPlot | null = null;
  const data = (): uPlot.AlignedData =>
    [series.seconds(), ...lines.map(({ name }) => series.column(name))];
  const rebuild = (): void => {
    plot?.destroy();
    plot = box.clientWidth > 0 ? new uPlot(options(lines, series, box.clientWidth), data(), box) : null;
  };
  const draw = (): void => {
    lines.forEach(({ name }, i) => {
      const value = values[i];
      if (value) setText(value, figure(series.latest(name)));
    });
    setAttribute(box, 'aria-label', `${title}: ` + lines.map(({ name, label }) =>
      `${label} ${figure(series.latest(name))} ${unit}`.trim()).join(', '));
    plot?.setData(data());
  };
  const observer = new ResizeObserver(() => {
    if (!plot) rebuild();
    else plot.setSize({ width: box.clientWidth, height });
  });
  observer.observe(box);
  themeChanged.listen(signal, rebuild);
  signal.addEventListener('abort', () => {
    observer.disconnect();
    plot?.destroy();
  });
  draw();
  return { element, draw };
}

function options(lines: Line[], series: SeriesWindow, width: number): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: colour('muted'),
    font: '11px system-ui, sans-serif',
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width, height,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { range: () => series.span(Date.now()) },
      y: { range: (_, _low, high) => [0, Math.max(1, high * 1.1)] },
    },
    axes: [
      { ...axis, values: '{HH}:{mm}', space: 70, size: 26 },
      { ...axis, size: 46, values: (_, ticks) => ticks.map((tick) => figure(tick)) },
    ],
    series: [{}, ...lines.map((line) => ({
      label: line.label, stroke: colour(line.colour), width: 1.5, points: { size: 3 },
    }))],
  };
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
