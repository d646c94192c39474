'use strict';
// A lock that musterd's LockService grants. Every request may be repeated, at any server.
const {randomUUID} = require('node:crypto');
const {now} = require('./clock');
const {MusterError} = require('./errors');
const {Holders} = require('./holders');
const {Lease} = require('./lease');

/** A server answers those that wait after this time, or one ttl. */
const ANSWER_MS = 5000;
const WAIT_MAX_MS = 86400000;
const RELEASE_MS = 3000;

class RpcLock {
  #servers;
  #who;
  #wish;
  #lease = new Lease();
  #beat = 0;
  #handle = '';
  #token = 0;
  #timer;
  #lost = false;
  #over = new AbortController();
  #holders = new Holders();

  /** Waits until the lock is held; the answer is what a Term stands on. */
  static async take(servers, prefix, name, {ttl, permits, shared, timeout, signal}) {
    const lock = new RpcLock();
    lock.#servers = servers;
    lock.#who = {name, prefix, session: randomUUID()};
    lock.#wish = {ttl_ms: ttl, permits, ...(shared === undefined ? {} : {shared})};
    try {
      await lock.#acquire(timeout, signal);
    } catch (error) {
      await lock.#release();
      throw error;
    }
    lock.#renewSoon();
    return lock.#holders.add(lock.#token, () => lock.#valid(), () => Math.max(0, lock.#lease.deadline - now()),
        () => lock.#close());
  }

  #valid() {
    return !this.#lost && this.#lease.valid(now());
  }

  async #acquire(timeout, signal) {
    const limit = timeout === undefined ? Infinity : now() + timeout;
    for (let sent; ; ) {
      const left = Math.max(0, limit - now());
      const request = {...this.#who, ...this.#wish, wait_ms: Math.min(left, WAIT_MAX_MS)};
      const patience = Math.min(ANSWER_MS, this.#wish.ttl_ms) + RELEASE_MS;
      let answer;
      try {
        answer = await this.#servers.call('LockService', 'Acquire', request,
            {attempt: patience, within: Math.min(left, ANSWER_MS) + patience, signal, sending: (at) => (sent = at)});
      } catch (error) {
        if (error.status === 10) throw new MusterError('TIMEOUT', error.message); // It is held by others.
        // Who has no time limit waits for the servers, too.
        if (error.code !== 'UNAVAILABLE' || now() >= limit) throw error;
        continue;
      }
      if (answer.waiting) continue;
      this.#handle = answer.handle;
      this.#token = answer.token;
      this.#lease.sent(++this.#beat, sent);
      if (this.#lease.grant(this.#beat, answer.left_ms, now())) return;
    }
  }

  #renewSoon() {
    const due = Math.min(this.#wish.ttl_ms / 3, this.#lease.deadline - now());
    this.#timer = setTimeout(() => this.#renew(), Math.max(0, due));
    this.#timer.unref(); // It is for the work to keep the process alive.
  }

  async #renew() {
    if (!this.#valid()) return this.#lose();
    // Nothing renews a lock that was over, though a server may say so: the work has been asked to stop.
    const end = setTimeout(() => this.#valid() || this.#lose(), this.#lease.deadline - now() + 1);
    let sent;
    try {
      const {left_ms: left} = await this.#servers.call('LockService', 'Renew', {...this.#who, handle: this.#handle},
          {within: this.#lease.deadline - now(), signal: this.#over.signal, sending: (at) => (sent = at)});
      this.#lease.sent(++this.#beat, sent);
      if (!this.#lease.renew(this.#beat, left, now())) this.#lose();
    } catch (error) {
      if (this.#over.signal.aborted) return;
      // Other refusals leave the lock as it is: it is renewed while there is time.
      if (error.code === 'NOT_FOUND' || !this.#valid()) this.#lose();
    } finally {
      clearTimeout(end);
    }
    if (!this.#lost && !this.#over.signal.aborted) this.#renewSoon();
  }

  #lose() {
    this.#lost = true;
    this.#holders.stop();
  }

  async #close() {
    this.#over.abort();
    clearTimeout(this.#timer);
    await this.#release();
  }

  async #release() {
    try {
      await this.#servers.call('LockService', 'Release', {...this.#who, handle: this.#handle}, {within: RELEASE_MS});
    } catch {
      // It was lost, or nobody answers: then it ends with its ttl.
    }
  }
}

module.exports = {RpcLock};
