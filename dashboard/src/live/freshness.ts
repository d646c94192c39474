import { clock, duration, wholeSeconds } from '../format.ts';
import type { Link } from './feed.ts';

/** A follower that applied nothing for longer than this is not keeping up with its leader. */
const staleMaxMs = 10_000;

export interface Staleness {
  /** Says since when, so that nobody takes what is shown for the present. */
  text: string;
  retry: boolean;
}

/** Whether what is shown is old, and in which words to say so; null while it is fresh. Pure. */
export function staleness(link: Link, staleMs: number, now: number): Staleness | null {
  if (link.kind === 'lost') {
    const wait = Math.max(0, link.retryAt - now);
    return {
      text: `Stale since ${clock(link.since, now)} (${duration(wholeSeconds(now - link.since))}). ` +
        `${link.reason} Trying again${wait < 1000 ? '' : ` in ${Math.round(wait / 1000)} s`}.`,
      retry: true,
    };
  }
  if (link.kind === 'live' && staleMs > staleMaxMs) {
    return {
      text: `Stale since ${clock(now - staleMs, now)} (${duration(wholeSeconds(staleMs))}). ` +
        'This server answers, but gets nothing from the log; another server may be more current.',
      retry: false,
    };
  }
  return null;
}
