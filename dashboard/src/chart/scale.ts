// Where things stand in a chart, and what its axes say. Pure.

/** A function that maps [from, to] to [start, end]. */
export const scale = (from: number, to: number, start: number, end: number) =>
  (value: number): number => start + (value - from) / (to - from) * (end - start);

/**
 * Round values from zero to the first one that is not below `high`, in at most `most` steps. The axis
 * reaches to 1 at least: spread over its whole height, the noise of an idle cluster would look like
 * trouble.
 */
export function valueTicks(high: number, most: number): number[] {
  const top = Math.max(1, high);
  const exponent = Math.floor(Math.log10(top / most));
  // Dividing by a power of ten is exact to the last digit; multiplying by 0.1 is not.
  const times = (factor: number): number =>
    exponent < 0 ? factor / 10 ** -exponent : factor * 10 ** exponent;
  const digit = [1, 2, 5].find((each) => times(each) * most >= top) ?? 10;
  const steps = Math.ceil(top / times(digit));
  return Array.from({ length: steps + 1 }, (_, i) => times(i * digit));
}

/** What is written beside the ticks of values: all with the same digits, however large, in little room. */
export function valueLabels(ticks: readonly number[]): string[] {
  const step = ticks[1] ?? 1;
  const large = (ticks.at(-1) ?? 0) >= 10_000;
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const format = new Intl.NumberFormat('en', large ? { notation: 'compact' }
    : { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return ticks.map((tick) => tick === 0 ? '0' : format.format(tick));
}

const minute = 60_000;
const timeSteps = [1, 2, 5, 10, 15, 30, 60].map((minutes) => minutes * minute);

/**
 * Round times of day within [from, to], at most `most` of them. `zoneMs` is by how much the clock is
 * ahead of UTC: an hour that is full there need not be full here.
 */
export function timeTicks(from: number, to: number, most: number, zoneMs: number): number[] {
  const step = timeSteps.find((each) => (to - from) / each < most) ?? to - from;
  const ticks: number[] = [];
  for (let at = Math.ceil((from + zoneMs) / step) * step - zoneMs; at <= to; at += step) ticks.push(at);
  return ticks;
}

const tenths = (value: number): number => Math.round(value * 10) / 10;

/**
 * A line through the points whose value is known, as the path of an SVG. The line ends where a value is
 * missing: nobody knows what was there. A point that has no neighbour becomes a dash, which can be seen.
 */
export function linePath(xs: readonly number[], ys: readonly (number | null)[]): string {
  const known = (i: number): boolean => (ys[i] ?? null) !== null;
  return xs.map((x, i) => {
    if (!known(i)) return '';
    const [left, y] = [tenths(x), tenths(ys[i] ?? 0)];
    if (known(i - 1)) return `L${left} ${y}`;
    return known(i + 1) ? `M${left} ${y}` : `M${tenths(left - 1)} ${y}h2`;
  }).join('');
}

/** The place of the value that is nearest to `at` in a rising list; null when the list is empty. */
export function nearest(rising: readonly number[], at: number): number | null {
  if (rising.length === 0) return null;
  const after = rising.findIndex((value) => value >= at);
  if (after < 0) return rising.length - 1;
  const before = Math.max(0, after - 1);
  return at - (rising[before] ?? at) < (rising[after] ?? at) - at ? before : after;
}
