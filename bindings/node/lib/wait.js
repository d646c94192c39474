'use strict';
const {MusterError} = require('./errors');

/** Milliseconds as a number that can be one. */
function milliseconds(time, least) {
  if (!Number.isFinite(time)) throw new MusterError('INVALID', `${time} is no time in milliseconds`);
  return Math.max(least, Math.round(time));
}

/** Resolves after the time, or as soon as the signal is aborted. */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
    if (signal?.aborted) done();
  });
}

/** Those who wait for something, each for its own time. */
class Waiters {
  #waiting = new Set();

  /** Rejects with `late` after the timeout, and with the signal's reason when that is aborted. */
  wait({timeout, signal}, late) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const over = (act, value) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', aborted);
        this.#waiting.delete(one);
        act(value);
      };
      const aborted = () => over(reject, signal.reason);
      const expire = () => over(reject, late());
      const timer = timeout === undefined ? undefined : setTimeout(expire, milliseconds(timeout, 0));
      const one = {resolve: (value) => over(resolve, value), reject: (error) => over(reject, error)};
      signal?.addEventListener('abort', aborted);
      this.#waiting.add(one);
    });
  }

  resolve(make) {
    for (const each of [...this.#waiting]) each.resolve(make());
  }

  reject(error) {
    for (const each of [...this.#waiting]) each.reject(error);
  }
}

module.exports = {Waiters, milliseconds, pause};
