import type { Decision } from '../api.ts';

export interface Filter {
  words: string;
  kinds: ReadonlySet<string>;
}

/** The same question that the server answers for `q`, and the kinds that were chosen. Pure. */
export function matches(decision: Decision, filter: Filter): boolean {
  if (filter.kinds.size > 0 && !filter.kinds.has(decision.kind)) return false;
  const words = filter.words.trim().toLowerCase();
  if (words === '') return true;
  return [decision.kind, decision.subject, decision.cause, decision.text]
    .some((text) => text.toLowerCase().includes(words));
}

/**
 * Decisions in the order of their numbers, each once, the newest at most `bound` of them. While
 * paused, what comes in waits unseen, so that nothing moves under the eyes of a reader.
 */
export class Timeline {
  private decisions: Decision[] = [];
  private waiting: Decision[] = [];
  paused = false;

  constructor(private readonly bound: number) {}

  get waitingCount(): number {
    return this.waiting.length;
  }

  /** What just happened. */
  happened(decision: Decision): void {
    if (this.paused) this.waiting = merge(this.waiting, [decision], this.bound);
    else this.learn([decision]);
  }

  /** What is known of the past, shown at once also while paused. */
  learn(decisions: readonly Decision[]): void {
    this.decisions = merge(this.decisions, decisions, this.bound);
  }

  resume(): void {
    this.paused = false;
    this.learn(this.waiting);
    this.waiting = [];
  }

  clear(): void {
    this.decisions = [];
    this.waiting = [];
  }

  /** Newest first. */
  shown(filter: Filter): Decision[] {
    return this.decisions.filter((decision) => matches(decision, filter)).reverse();
  }
}

function merge(old: readonly Decision[], more: readonly Decision[], bound: number): Decision[] {
  const newest = old.at(-1);
  const inOrder = more.length === 1 && newest && more[0] && more[0].seq > newest.seq;
  if (inOrder) return [...old, ...more].slice(-bound);
  const bySeq = new Map<number, Decision>();
  for (const decision of [...old, ...more]) bySeq.set(decision.seq, decision);
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq).slice(-bound);
}
