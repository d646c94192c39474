'use strict';
// Elections and locks by musterd's own services, at addresses with grpc://.
const {randomUUID} = require('node:crypto');
const os = require('node:os');
const {Campaign} = require('./campaign');
const {now} = require('./clock');
const {MusterError, fromStatus} = require('./errors');
const {Holders} = require('./holders');
const {RpcLock} = require('./rpc_lock');
const {Servers} = require('./servers');
const {Waiters, milliseconds} = require('./wait');

const TROUBLES_KEPT = 64;
const TIMER_MAX_MS = 2 ** 30;

/** Of this process: no other one may go on with its terms. */
const session = randomUUID();
let unnamed = 0;

function usualId() {
  const id = `${os.hostname()}-${process.pid}`.replace(/[^\w.:@-]/g, '-').slice(-100);
  unnamed += 1;
  return unnamed === 1 ? id : `${id}-${unnamed}`;
}

/** One part in one election. */
class Candidate {
  #servers;
  #hello;
  #lease;
  #exitsOnOverrun;
  #campaign;
  #events = [];
  #call;
  #address;
  #timer;
  #holders = new Holders();
  #waiters = new Waiters();
  #ended = new Waiters();
  #ending; // {prefer, given}: the work is asked to stop; `given`: while the lease holds.
  #refused;
  #closed = false;
  #seen = null;
  #troubles = [];
  #unreachable = false;

  constructor(servers, prefix, name, {id, value = '', lease, exitsOnOverrun}) {
    this.#servers = servers;
    this.#lease = lease;
    this.#exitsOnOverrun = exitsOnOverrun;
    this.#hello = {name, id: id ?? usualId(), session, value, lease_ms: lease, prefix};
    this.#campaign = new Campaign({lease, tell: (event) => this.#events.push(event)});
    this.#pump();
  }

  #leads() {
    return this.#campaign.leads(now());
  }

  async wait(options) {
    for (;;) {
      if (this.#refused) throw this.#refused;
      if (this.#closed) throw new MusterError('CANCELLED', `no longer waiting to lead ${this.#hello.name}`);
      if (this.#leads() && !this.#ending) return this.#hold();
      await this.#waiters.wait(options ?? {}, () => new MusterError('TIMEOUT',
          `another process leads ${this.#hello.name}, or the servers do not answer`));
    }
  }

  #hold() {
    const {epoch} = this.#campaign;
    const valid = () => this.#campaign.epoch === epoch && this.#leads() && !this.#ending?.given;
    const left = () => Math.max(0, this.#campaign.deadline - now());
    return this.#holders.add(epoch, valid, left, () => this.#holderGone());
  }

  #holderGone() {
    if (this.#holders.some || (!this.#ending && this.#campaign.phase !== 'lost')) return;
    this.#finishTerm();
  }

  /** The work has ended, of a term that was lost or is given up. */
  #finishTerm() {
    const {prefer = ''} = this.#ending ?? {};
    this.#ending = undefined;
    if (this.#closed) return; // close() goes on from here.
    this.#campaign.resign(prefer, now());
    this.#pump();
  }

  #endTerm(prefer, given) {
    this.#ending ??= {prefer, given};
    this.#holders.stop();
    if (!this.#holders.some) this.#finishTerm();
  }

  leader() {
    return this.#leads() ? {id: this.#hello.id, value: this.#hello.value, token: this.#campaign.epoch} : this.#seen;
  }

  troubles() {
    return this.#troubles.splice(0);
  }

  async stepDown(prefer = '') {
    if (!this.#leads() || this.#ending) {
      throw new MusterError('CONFLICT', `${this.#hello.id} does not lead ${this.#hello.name}`);
    }
    this.#endTerm(prefer, true);
  }

  /** Does what is due, and what comes of it. */
  #pump() {
    const at = now();
    const work = this.#campaign.takeWork(at);
    if (work.close && this.#call) {
      this.#servers.failed(this.#address); // Another server next time, if there is one.
      this.#leave();
    }
    if (work.hello) this.#open(work.hello);
    if (work.beat) this.#call?.write({beat: {number: work.beat}});
    if (work.resign) this.#call?.write({resign: work.resign});
    this.#settle();
  }

  #leave() {
    const call = this.#call;
    this.#call = undefined;
    call?.cancel();
  }

  #open({resumeEpoch, paused}) {
    this.#address = this.#servers.address;
    const call = this.#servers.client('ElectionService', this.#address).Campaign();
    this.#call = call;
    call.on('error', () => {}); // The status says it, too.
    call.on('data', (message) => {
      if (call !== this.#call || !message.kind) return;
      this.#campaign.heard(message.kind, message[message.kind], now());
      if (this.#unreachable && message.kind !== 'trouble') this.#unreachable = false;
      this.#settle();
    });
    call.on('status', (status) => {
      if (call !== this.#call) return;
      this.#call = undefined;
      const error = fromStatus(status, this.#address, false);
      this.#servers.failed(this.#address);
      const final = error.answered && ['INVALID', 'DENIED', 'UNSUPPORTED', 'CONFLICT'].includes(error.code) &&
          !error.leaderAddress;
      this.#campaign.streamEnded(error, final, now());
      this.#settle();
    });
    call.write({hello: {...this.#hello, resume_epoch: resumeEpoch, paused}});
  }

  /** Tells what has happened, and waits for what is due next. */
  #settle() {
    for (let event; (event = this.#events.shift()); ) this.#heard(event);
    clearTimeout(this.#timer);
    let due = this.#campaign.workAt();
    if (this.#holders.some && !this.#ending && this.#leads()) {
      // The time that work has to stop if renewals fail: a fifth of the lease, and a tenth for what may go wrong.
      const stopAt = this.#campaign.deadline - 0.3 * this.#lease;
      if (now() >= stopAt) return this.#endTerm('', false);
      due = Math.min(due, stopAt);
    }
    if (due === Infinity) return;
    this.#timer = setTimeout(() => this.#pump(), Math.min(Math.max(0, due - now()), TIMER_MAX_MS));
  }

  #heard(event) {
    switch (event.kind) {
      case 'waiting':
        this.#seen = event.leader ? {id: event.leader, value: event.value, token: event.epoch} : null;
        return;
      case 'granted':
        this.#waiters.resolve(() => undefined);
        return;
      case 'giveUp':
        this.#endTerm('', true);
        return;
      case 'lost':
        if (this.#holders.some && this.#exitsOnOverrun && event.reason === 'expired') process.exit(71);
        this.#holders.stop();
        if (!this.#holders.some) this.#finishTerm();
        return;
      case 'trouble':
        this.#trouble(new MusterError('CONFLICT', event.reason));
        return;
      case 'disconnected':
        if (!this.#unreachable && event.error.status !== 0) this.#trouble(event.error);
        this.#unreachable = true;
        return;
      case 'refused':
        this.#refused = event.error;
        this.#waiters.reject(event.error);
        this.#ended.resolve(() => undefined);
        return;
      case 'ended':
        this.#ended.resolve(() => undefined);
    }
  }

  #trouble(error) {
    this.#troubles.push(error);
    if (this.#troubles.length > TROUBLES_KEPT) this.#troubles.shift();
  }

  /** Asks the work to stop, waits for that, and releases the lease; it expires if either takes too long. */
  async close() {
    this.#closed = true;
    this.#waiters.reject(new MusterError('CANCELLED', `no longer waiting to lead ${this.#hello.name}`));
    if (this.#campaign.phase !== 'over') {
      this.#ending ??= {prefer: '', given: true};
      this.#holders.stop();
      if (await this.#holders.closed(0.3 * this.#lease) && this.#campaign.phase !== 'over') {
        const ended = this.#ended.wait({timeout: this.#lease / 3}, () => new Error('late')).catch(() => {});
        this.#campaign.stop(now());
        this.#pump();
        if (this.#campaign.phase !== 'over') await ended;
        else this.#ended.resolve(() => undefined);
      }
    }
    clearTimeout(this.#timer);
    this.#leave();
  }
}

/** Sees who leads, and never leads. */
class Watcher {
  #servers;
  #request;
  #seen = null;
  #call;
  #timer;
  #closed = false;
  #waiters = new Waiters();
  #failures = 0;

  constructor(servers, request) {
    this.#servers = servers;
    this.#request = request;
    this.#open();
  }

  #open() {
    const {address} = this.#servers;
    this.#call = this.#servers.client('ElectionService', address).Observe(this.#request);
    this.#call.on('error', () => {});
    this.#call.on('data', ({leader: id, value, epoch: token}) => {
      this.#failures = 0;
      this.#seen = id ? {id, value, token} : null;
    });
    this.#call.on('status', () => {
      if (this.#closed) return;
      this.#servers.failed(address);
      this.#timer = setTimeout(() => this.#open(), Math.min(100 * 2 ** this.#failures++, 2000));
    });
  }

  wait(options = {}) {
    const words = `this process does not campaign for ${this.#request.name}`;
    return this.#waiters.wait(options, () => new MusterError('TIMEOUT', words));
  }

  leader() {
    return this.#seen;
  }

  troubles() {
    return [];
  }

  async stepDown() {
    throw new MusterError('CONFLICT', `this process does not lead ${this.#request.name}`);
  }

  async close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#waiters.reject(new MusterError('CANCELLED', `no longer waiting to lead ${this.#request.name}`));
    this.#call.cancel();
  }
}

/** What decides elections and locks at an address with grpc://. */
class Rpc {
  #servers;
  #prefix;

  static async open(url, files) {
    const [, servers, prefix = ''] = /^grpc:\/\/([^/]*)(?:\/(.*))?$/.exec(url) ?? [];
    if (!servers) throw new MusterError('INVALID', `"${url}" is no address like grpc://h1:9000,h2:9000/prefix`);
    const rpc = new Rpc();
    rpc.#servers = new Servers(servers, files);
    rpc.#prefix = prefix;
    return rpc;
  }

  async probe() {
    await this.#servers.call('CoordinatorService', 'HealthCheck', {});
  }

  async stand(name, {id, value, lease = 6000, campaigns = true, exitsOnOverrun = false}) {
    const lease_ms = milliseconds(lease, 1);
    if (!campaigns) return new Watcher(this.#servers, {name, prefix: this.#prefix});
    return new Candidate(this.#servers, this.#prefix, name, {id, value, lease: lease_ms, exitsOnOverrun});
  }

  async lock(name, {ttl = 6000, permits = 0, shared, timeout, signal}) {
    if (!Number.isInteger(permits) || permits < 0 || permits >= 2 ** 32) {
      throw new MusterError('INVALID', `lock ${name}: ${permits} is no number of permits`);
    }
    signal?.throwIfAborted();
    const wait = timeout === undefined ? undefined : milliseconds(timeout, 0);
    const wish = {ttl: milliseconds(ttl, 1), permits, shared, timeout: wait, signal};
    return RpcLock.take(this.#servers, this.#prefix, name, wish);
  }

  async close() {
    this.#servers.close();
  }
}

module.exports = {Rpc};
