'use strict';
// Elections and locks that the C library decides, in whatever store its addresses name.
const {MusterError} = require('./errors');
const {Handle, call, callInTurn, native, takeError} = require('./native');
const {milliseconds, pause} = require('./wait');

/** A wait in the library blocks a thread, of which Node has few. So it is asked again, in the end as rarely as this. */
const ASK_EVERY_MS = 50;
/** For who waits to lead, which may take weeks: a successor comes this much later. */
const ASK_LEADERSHIP_EVERY_MS = 200;

const text = (value) => {
  if (value === undefined || value === null) return null;
  if (String(value).includes('\0')) throw new MusterError('INVALID', 'a text must not contain the character 0');
  return String(value);
};

/** What `ask` returns once it does not throw a timeout any more. */
async function answerOf(ask, {timeout, signal} = {}, every = ASK_EVERY_MS) {
  const limit = timeout === undefined ? Infinity : performance.now() + milliseconds(timeout, 0);
  for (let wait = 1; ; wait = Math.min(2 * wait, every)) {
    signal?.throwIfAborted();
    try {
      return ask();
    } catch (error) {
      if (error.code !== 'TIMEOUT' || performance.now() >= limit) throw error;
    }
    await pause(Math.min(wait, limit - performance.now()), signal);
  }
}

/** A term of the library, or a lock. */
class Held {
  #handle;
  #maker; // Must not be freed while this is held.

  constructor(handle, maker) {
    this.#handle = handle;
    this.#maker = maker;
    this.token = Number(handle.call('term_token'));
  }

  valid() {
    return !this.#handle.closed && this.#handle.call('term_valid');
  }

  left() {
    return this.#handle.closed ? 0 : Number(this.#handle.call('term_left'));
  }

  /** Calls `stop` once, when the work should stop; returns a function that ends this. */
  watch(stop) {
    const timer = setInterval(() => {
      if (!this.#handle.closed && !this.#handle.call('term_wait_stop', 0)) return;
      clearInterval(timer);
      stop();
    }, ASK_EVERY_MS);
    return () => clearInterval(timer);
  }

  async close() {
    await this.#handle.close();
    this.#maker = undefined;
  }
}

class Candidate {
  #handle;

  constructor(handle) {
    this.#handle = handle;
  }

  async wait(options) {
    const pointer = await answerOf(() => this.#handle.call('leadership_wait', 0), options, ASK_LEADERSHIP_EVERY_MS);
    return new Held(new Handle('term', pointer, 'term_free'), this);
  }

  leader() {
    const seen = native().types.leader.make({token: 0, id: '', value: ''});
    if (!this.#handle.call('leadership_leader', seen)) return null;
    return {id: seen.id, value: seen.value, token: Number(seen.token)};
  }

  troubles() {
    const found = [];
    for (let each; (each = this.#handle.call('leadership_trouble')); ) found.push(takeError(each));
    return found;
  }

  async stepDown(prefer) {
    this.#handle.call('leadership_step_down', text(prefer));
  }

  async close() {
    if (this.#handle.closed) return this.#handle.close();
    try {
      await this.#handle.run('leadership_stop');
    } finally {
      await this.#handle.close();
    }
  }
}

class Library {
  #handle;

  static async open(url, {caFile, certFile, keyFile}) {
    const tls = native().types.tls.make({ca_file: text(caFile), cert_file: text(certFile), key_file: text(keyFile)});
    const library = new Library();
    library.#handle = new Handle('arbiter', await callInTurn('arbiter_open', text(url), tls), 'arbiter_free');
    return library;
  }

  async probe() {
    await this.#handle.run('arbiter_probe');
  }

  async stand(name, {id, value, lease = 6000, campaigns = true, exitsOnOverrun = false}) {
    const wanted = native().types.leaderOptions.make({
      id: text(id), value: text(value), lease: milliseconds(lease, 1), only_watches: !campaigns,
      exits_on_overrun: exitsOnOverrun,
    });
    const pointer = await this.#handle.run('leadership_stand', text(name), wanted);
    return new Candidate(new Handle('leadership', pointer, 'leadership_free'));
  }

  async lock(name, {ttl = 6000, permits = 0, shared, timeout, signal}) {
    if (!Number.isInteger(permits) || permits < 0 || permits >= 2 ** 32) {
      throw new MusterError('INVALID', `lock ${name}: ${permits} is no number of permits`);
    }
    const once = timeout === 0;
    const wanted = native().types.lockOptions.make({
      ttl: milliseconds(ttl, 1), permits, sharing: shared === undefined ? 0 : shared ? 1 : 2, once,
    });
    signal?.throwIfAborted();
    const pointer = this.#handle.call('lock_acquire', text(name), wanted);
    const handle = new Handle('lock', pointer, 'term_free');
    try {
      // Of an attempt that is made once, the answer comes with the first look.
      if (once) await handle.run('lock_wait', -1);
      else await answerOf(() => handle.call('lock_wait', 0), {timeout, signal});
      return new Held(handle, this);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  close() {
    return this.#handle.close();
  }
}

module.exports = {Library, version: () => call('version')};
