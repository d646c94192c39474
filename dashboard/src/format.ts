// Numbers and times in the words that people read. Pure.

const whole = new Intl.NumberFormat('en');
export const count = (value: number): string => whole.format(value);

/** Two units at most: "340 ms", "4.2 s", "3 min 5 s", "2 h 10 min", "3 d 4 h". */
export function duration(ms: number): string {
  const left = Math.max(0, ms);
  if (left < 999.5) return `${Math.round(left)} ms`;
  if (left < 9950 && left % 1000 !== 0) return `${(left / 1000).toFixed(1)} s`;
  const seconds = Math.round(left / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return pair(minutes, 'min', minutes < 10 ? seconds % 60 : 0, 's');
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return pair(hours, 'h', minutes % 60, 'min');
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

/** For durations that count up on the screen: tenths would only flicker. At least one second. */
export const wholeSeconds = (ms: number): number => Math.max(1000, Math.floor(ms / 1000) * 1000);

function pair(large: number, unit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`;
}

export function percent(fraction: number): string {
  const value = fraction * 100;
  if (value === 0) return '0 %';
  if (value < 0.001) return '< 0.001 %';
  const digits = value < 0.1 ? 3 : value < 1 ? 2 : value < 99.95 ? 1 : 0;
  return `${value.toFixed(digits)} %`;
}

/** A measured value of whatever size, in three digits or so. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  if (value !== 0 && Math.abs(value) < 10) return value.toFixed(value < 1 ? 2 : 1);
  return count(Math.round(value));
}

const two = (value: number): string => String(value).padStart(2, '0');

/** Time of day of this browser; with the date when it is not today. */
export function clock(atMs: number, nowMs: number): string {
  const at = new Date(atMs);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** When a node was last heard; if it was not heard, the minimum silence. */
export function lastSeen(ms: number | null, heard: boolean): string {
  if (ms === null) return '–';
  if (!heard) return `silent for ${duration(ms)}`;
  return ms < 1000 ? 'now' : `${duration(ms)} ago`;
}
