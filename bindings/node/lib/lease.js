'use strict';
// Until when this process may act under a lease that a server renews because of its beats. Told the time.

/** Beats that an answer may name yet. */
const BEATS_KEPT = 16;

/**
 * A lease counts from when the beat was sent that an answer names, and not from the answer: others begin to count when
 * they see what came of the beat, which is later. Nothing revives a lease that has ended, except another grant.
 */
class Lease {
  deadline = -Infinity;
  #longest;
  #sent = new Map();

  /** `longest`: what was asked for; a server grants no more. */
  constructor(longest = Infinity) {
    this.#longest = longest;
  }

  valid(now) {
    return now < this.deadline;
  }

  /** Answers to the beats of another stream say nothing. */
  newStream() {
    this.#sent.clear();
  }

  sent(beat, now) {
    this.#sent.set(beat, now);
    if (this.#sent.size > BEATS_KEPT) this.#sent.delete(this.#sent.keys().next().value);
  }

  /** When the first beat after `beat` was sent, if there is one. */
  sentAfter(beat) {
    for (const [number, at] of this.#sent) if (number > beat) return at;
  }

  /** False if the answer names no beat, or comes so late that the lease is over. */
  grant(beat, left, now) {
    const end = this.#sent.get(beat) + Math.min(left, this.#longest);
    if (!(now < end)) return false;
    this.deadline = end;
    return true;
  }

  /** False if the answer names no beat, or if the lease was over before it came. */
  renew(beat, left, now) {
    if (!this.valid(now) || !this.#sent.has(beat)) return false;
    this.deadline = Math.max(this.deadline, this.#sent.get(beat) + Math.min(left, this.#longest));
    return true;
  }
}

module.exports = {Lease};
