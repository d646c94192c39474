'use strict';
const {Waiters} = require('./wait');

const FOR_EVER_MS = 2 ** 30;

/** What becomes of the work under a term or a lock: asked to stop, and closed. */
class Holders {
  #each = new Set();
  #none = new Waiters();

  get some() {
    return this.#each.size > 0;
  }

  /** `valid()` and `left()` as the owner says; `gone()` is called when it is closed. */
  add(token, valid, left, gone) {
    const one = {stops: new Set(), listening: [], stopped: false};
    this.#each.add(one);
    return {
      token,
      valid,
      left,
      watch: (stop) => {
        if (one.stopped) {
          stop();
          return () => {};
        }
        one.stops.add(stop);
        const alive = setInterval(() => {}, FOR_EVER_MS); // Who listens keeps the process alive.
        one.listening.push(alive);
        return () => clearInterval(alive);
      },
      close: async () => {
        if (!this.#each.delete(one)) return;
        if (!this.some) this.#none.resolve(() => undefined);
        await gone();
      },
    };
  }

  stop() {
    for (const one of this.#each) {
      one.stopped = true;
      for (const each of one.stops) each();
      one.stops.clear();
      one.listening.forEach(clearInterval);
    }
  }

  /** True once all are closed; false if that takes longer than `ms`. */
  closed(ms) {
    if (!this.some) return Promise.resolve(true);
    return this.#none.wait({timeout: ms}, () => new Error('late')).then(() => true, () => false);
  }
}

module.exports = {Holders};
