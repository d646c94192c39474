import { seriesNames, type Sample, type SeriesAnswer, type SeriesName } from '../api.ts';

/** Measured values of the last minutes, one column per series, on one axis of time. */
export class SeriesWindow {
  /** When each value was measured, in milliseconds. */
  times: number[] = [];
  private values = new Map<SeriesName, (number | null)[]>(seriesNames.map((name) => [name, []]));

  constructor(private readonly lengthMs: number) {}

  load(answer: SeriesAnswer): void {
    const length = Math.max(0, ...seriesNames.map((name) => answer.series[name]?.length ?? 0));
    this.times = Array.from({ length }, (_, i) => answer.startMs + i * answer.stepMs);
    for (const name of seriesNames) {
      this.values.set(name, this.times.map((_, i) => answer.series[name]?.[i] ?? null));
    }
  }

  /** A sample that is not newer than the last one was in the answer already. */
  add(sample: Sample): void {
    if (sample.atMs <= (this.times.at(-1) ?? 0)) return;
    this.times.push(sample.atMs);
    for (const name of seriesNames) this.values.get(name)?.push(sample[name] ?? null);
    while ((this.times[0] ?? sample.atMs) < sample.atMs - this.lengthMs) {
      this.times.shift();
      for (const column of this.values.values()) column.shift();
    }
  }

  /** From when to when a chart reaches: all of the window, however little is known. */
  span(nowMs: number): [number, number] {
    const end = this.times.at(-1) ?? nowMs;
    return [end - this.lengthMs, end];
  }
  column(name: SeriesName): (number | null)[] {
    return this.values.get(name) ?? [];
  }
  latest(name: SeriesName): number | null {
    return this.column(name).findLast((value) => value !== null) ?? null;
  }
}
