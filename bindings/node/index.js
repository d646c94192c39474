'use strict';
const {MusterError} = require('./lib/errors');
const {Library, version} = require('./lib/library');
const {Cluster, Directory, Membership} = require('./lib/nodes');
const {Rpc} = require('./lib/rpc');
const {Term, asyncDispose} = require('./lib/term');

/** One part in one election. */
class Leadership {
  #candidate;
  #closed;

  constructor(name, candidate) {
    this.name = name;
    this.#candidate = candidate;
  }

  async wait({timeout, signal, stopsWith} = {}) {
    return new Term(this.name, await this.#candidate.wait({timeout, signal}), stopsWith);
  }

  get leader() {
    return this.#candidate.leader();
  }

  troubles() {
    return this.#candidate.troubles();
  }

  stepDown(prefer) {
    return this.#candidate.stepDown(prefer);
  }

  close() {
    this.#closed ??= this.#candidate.close();
    return this.#closed;
  }

  [asyncDispose]() {
    return this.close();
  }
}

/** What decides elections and locks. */
class Arbiter {
  #decider;

  constructor(url, decider) {
    this.url = url;
    this.#decider = decider;
  }

  probe() {
    return this.#decider.probe();
  }

  async stand(name, options = {}) {
    return new Leadership(name, await this.#decider.stand(name, options));
  }

  async lock(name, {stopsWith, ...options} = {}) {
    return new Term(name, await this.#decider.lock(name, options), stopsWith);
  }

  close() {
    return this.#decider.close();
  }

  [asyncDispose]() {
    return this.close();
  }
}

async function open(url, files = {}) {
  const decider = String(url).startsWith('grpc://') ? Rpc : Library;
  return new Arbiter(url, await decider.open(url, files));
}

/** Calls `use` with an arbiter, which is closed afterwards if it was an address. */
async function withArbiter(arbiter, use) {
  if (arbiter instanceof Arbiter) return use(arbiter);
  const own = await open(arbiter);
  try {
    return await use(own);
  } finally {
    await own.close();
  }
}

async function lead(arbiter, name, work, {timeout, signal, ...options} = {}) {
  signal?.throwIfAborted();
  return withArbiter(arbiter, async (decider) => {
    const leadership = await decider.stand(name, options);
    try {
      const term = await leadership.wait({timeout, signal, stopsWith: signal});
      try {
        return await work(term);
      } finally {
        await term.close();
      }
    } finally {
      await leadership.close();
    }
  });
}

async function lock(arbiter, name, work, options = {}) {
  options.signal?.throwIfAborted();
  return withArbiter(arbiter, async (decider) => {
    const held = await decider.lock(name, {...options, stopsWith: options.signal});
    try {
      return await work(held);
    } finally {
      await held.close();
    }
  });
}

module.exports = {Arbiter, Cluster, Directory, Leadership, Membership, MusterError, Term, lead, lock, open, version};
