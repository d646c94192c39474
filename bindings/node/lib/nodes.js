'use strict';
// Nodes that register with musterd, and programs that look them up.
const {randomUUID} = require('node:crypto');
const {now} = require('./clock');
const {MusterError, fromStatus} = require('./errors');
const {Ring} = require('./ring');
const {Servers} = require('./servers');
const {asyncDispose} = require('./term');
const {Waiters, milliseconds, pause} = require('./wait');

const BEAT_MS = 10000;
const WITHIN_MS = 10000;
const REOPEN_MS = 100;
const REOPEN_MAX_MS = 5000;
/** The servers write at least every 30 s. */
const SILENCE_MS = 75000;

/** Services that had numbers before services had names. */
const TYPES = {frontend: 'NODE_TYPE_FRONTEND', metadata: 'NODE_TYPE_METADATA', object: 'NODE_TYPE_OBJECT'};

function toWire({id, address, port, service = 'object', tags = {}, weight = 1}, generation) {
  const wrong = (what) => new MusterError('INVALID', `node ${id}: ${what}`);
  if (!Number.isInteger(port) || port < 1 || port > 65535) throw wrong(`${port} is no port`);
  if (!Number.isInteger(weight) || weight < 1) throw wrong(`${weight} is no weight`);
  const kind = TYPES[service] ? {type: TYPES[service]} : {service};
  return {id, address, port, ...kind, tags, weight, generation_id: generation};
}

function fromWire(node) {
  const [service] = Object.entries(TYPES).find(([, type]) => type === node.type) ?? [node.service];
  const {id, address, port, weight, generation_id: generation} = node;
  return Object.freeze({id, address, port, service, tags: Object.freeze({...node.tags}), weight, generation,
    state: node.state.replace('NODE_STATE_', '')});
}

/** Keeps a node registered, by its heartbeats, until close(). */
class Membership {
  #servers;
  #wanted;
  #generation;
  #ended = new AbortController();
  #replaced = new AbortController();
  #beating;
  #closed;

  /** `directory`: where the node shows up. */
  static async join(servers, node, directory, {timeout = WITHIN_MS, signal} = {}) {
    const membership = new Membership();
    membership.#servers = servers;
    membership.#wanted = {...node};
    const limit = now() + milliseconds(timeout, 0);
    await membership.#register({within: limit - now(), signal});
    membership.#beating = membership.#beat();
    try {
      while (!directory.has(node.id, membership.#generation)) {
        await directory.changed({timeout: Math.max(0, limit - now()), signal});
      }
      return membership;
    } catch (error) {
      await membership.close();
      throw error.code === 'TIMEOUT' ? new MusterError('TIMEOUT', `node ${node.id} is not ACTIVE yet`) : error;
    }
  }

  get node() {
    return this.#wanted;
  }

  /** Aborted when another process has registered the node: this one must stop. */
  get signal() {
    return this.#replaced.signal;
  }

  async #register(options) {
    // Another one each time: the work of the last one may have moved.
    this.#generation = randomUUID();
    await this.#servers.call('CoordinatorService', 'RegisterNode', {node: toWire(this.#wanted, this.#generation)},
        {within: WITHIN_MS, ...options});
    await this.#say(options);
  }

  #say(options) {
    return this.#servers.call('CoordinatorService', 'Heartbeat',
        {node_id: this.#wanted.id, reported_state: 'NODE_STATE_ACTIVE', generation_id: this.#generation},
        {within: WITHIN_MS, ...options});
  }

  async #beat() {
    const {signal} = this.#ended;
    let lost = false;
    for (let wait = BEAT_MS * 0.9; ; ) {
      await pause(wait, signal);
      if (signal.aborted) return;
      try {
        await (lost ? this.#register({signal}) : this.#say({signal}));
        lost = false;
        wait = BEAT_MS * (0.9 + 0.1 * Math.random());
      } catch (error) {
        if (signal.aborted) return;
        if (error.replaced) {
          const words = `another process has registered ${this.#wanted.id}: ${error.message}`;
          this.#replaced.abort(new MusterError('CONFLICT', words));
          return;
        }
        lost ||= error.code === 'NOT_FOUND' || error.code === 'CONFLICT';
        wait = REOPEN_MAX_MS * (0.5 + 0.5 * Math.random());
      }
    }
  }

  close() {
    this.#closed ??= this.#leave();
    return this.#closed;
  }

  async #leave() {
    this.#ended.abort();
    await this.#beating;
    if (this.#replaced.signal.aborted) return;
    try {
      await this.#servers.call('CoordinatorService', 'DeregisterNode',
          {node_id: this.#wanted.id, generation_id: this.#generation}, {within: WITHIN_MS});
    } catch (error) {
      if (error.code !== 'NOT_FOUND') throw error; // It is gone already.
    }
  }

  [asyncDispose]() {
    return this.close();
  }
}

/** Follows the nodes of a cluster, until close(). */
class Directory {
  #servers;
  #service;
  #nodes = new Map();
  #ringConfig;
  #ring;
  #version = 0;
  #history = '';
  #synced = false;
  #ended = new AbortController();
  #following;
  #failed; // Nothing follows any more.
  #news = new Waiters();

  static async follow(servers, {service = '', ...options} = {}) {
    if (service === '*') throw new MusterError('INVALID', 'name one service: each has a ring of its own');
    const directory = Directory.begin(servers, service);
    try {
      await directory.ready(options);
      return directory;
    } catch (error) {
      await directory.close();
      throw error;
    }
  }

  /** One that need not be ready yet. `service`: '' stands for those that have types, '*' for all. */
  static begin(servers, service) {
    const directory = new Directory();
    directory.#servers = servers;
    directory.#service = service;
    directory.#following = directory.#follow().catch((error) => {
      directory.#failed = error;
      directory.#news.reject(error);
    });
    return directory;
  }

  async ready({timeout = WITHIN_MS, signal} = {}) {
    const limit = now() + milliseconds(timeout, 0);
    const late = () => new MusterError('TIMEOUT', `${this.#servers.address} has not sent the nodes`);
    while (!this.#synced) {
      if (this.#failed) throw this.#failed;
      await this.#news.wait({timeout: Math.max(0, limit - now()), signal}, late);
    }
  }

  get version() {
    return this.#version;
  }

  nodes() {
    return [...this.#nodes.values()].sort((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)));
  }

  owners(key, count) {
    this.#ring ??= new Ring(
        [...this.#nodes.values()].filter(({state}) => state === 'ACTIVE' || state === 'SUSPECT')
            .map(({id, weight}) => [id, weight]),
        this.#ringConfig.virtual_nodes_per_physical, this.#ringConfig.replication_factor);
    return this.#ring.owners(key, count).map((id) => this.#nodes.get(id));
  }

  /** Whether this process of the node is ACTIVE. */
  has(id, generation) {
    const node = this.#nodes.get(id);
    return node?.state === 'ACTIVE' && node.generation === generation;
  }

  /** Resolves after the next change. */
  async changed(options = {}) {
    if (this.#failed) throw this.#failed;
    return this.#news.wait(options, () => new MusterError('TIMEOUT', 'nothing has changed'));
  }

  async #follow() {
    const {signal} = this.#ended;
    for (let wait = REOPEN_MS; !signal.aborted; wait = Math.min(2 * wait, REOPEN_MAX_MS)) {
      const address = this.#servers.address;
      const final = await this.#watch(address, () => (wait = REOPEN_MS));
      if (signal.aborted) return;
      if (final && !this.#synced) throw final;
      this.#servers.failed(address);
      await pause(wait, signal);
    }
  }

  /** Until the stream ends; resolves with an error that another attempt would meet again. */
  #watch(address, progress) {
    return new Promise((resolve) => {
      const call = this.#servers.client('CoordinatorService', address).WatchTopology(
          {since_version: this.#version, history: this.#history, service: this.#service});
      const stop = () => call.cancel();
      this.#ended.signal.addEventListener('abort', stop);
      let silence;
      const heard = () => {
        clearTimeout(silence);
        silence = setTimeout(stop, SILENCE_MS);
      };
      heard();
      call.on('error', () => {}); // The status says it, too.
      call.on('data', (update) => {
        heard();
        progress();
        if (!this.#apply(update)) stop();
      });
      call.on('status', (status) => {
        clearTimeout(silence);
        this.#ended.signal.removeEventListener('abort', stop);
        const error = fromStatus(status, address, false);
        resolve(['DENIED', 'INVALID', 'UNSUPPORTED'].includes(error.code) ? error : undefined);
      });
    });
  }

  /** False if something is missing between what is known and this. */
  #apply(update) {
    const kind = update.update;
    if (kind === 'full_sync') {
      const all = update.full_sync;
      const lists = [all.frontend_nodes, all.metadata_nodes, all.object_nodes, all.nodes ?? []];
      this.#nodes = new Map(lists.flat().map((node) => [node.id, fromWire(node)]));
      this.#ringConfig = all.hash_ring_config;
      this.#history = all.history;
      this.#synced = true;
    } else if (kind !== 'keepalive' && kind !== 'lagged') {
      if (update.previous_version !== this.#version) {
        this.#version = 0; // From the beginning.
        return false;
      }
      if (kind === 'ring_changed') this.#ringConfig = update.ring_changed;
      else if (kind === 'node_removed') this.#nodes.delete(update.node_removed.id);
      else if (update[kind]) this.#nodes.set(update[kind].id, fromWire(update[kind]));
    }
    if (kind === 'lagged') return true;
    this.#version = update.version;
    if (kind === 'keepalive') return true;
    this.#ring = undefined;
    this.#news.resolve(() => undefined);
    return true;
  }

  async close() {
    this.#ended.abort();
    this.#news.reject(new MusterError('CANCELLED', 'the directory is closed'));
    await this.#following;
  }

  [asyncDispose]() {
    return this.close();
  }
}

/** A cluster of musterd, which keeps a registry of nodes. */
class Cluster {
  #servers;
  #joining = 0;
  #directory; // One for all that are joining: servers allow few watches.

  constructor(servers, files) {
    this.#servers = new Servers(servers, files);
  }

  async register(node, options = {}) {
    toWire(node, ''); // Mistakes come first.
    this.#joining += 1;
    try {
      this.#directory ??= Directory.begin(this.#servers, '*');
      await this.#directory.ready(options);
      return await Membership.join(this.#servers, node, this.#directory, options);
    } finally {
      this.#joining -= 1;
      if (this.#joining === 0) {
        const directory = this.#directory;
        this.#directory = undefined;
        await directory.close();
      }
    }
  }

  follow(options) {
    return Directory.follow(this.#servers, options);
  }

  close() {
    this.#servers.close();
  }

  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() {
    this.close();
  }
}

module.exports = {Cluster, Directory, Membership};
