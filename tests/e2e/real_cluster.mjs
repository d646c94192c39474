// Real musterd processes on one directory, and nodes that register with them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, openSync, closeSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { until } from './browser.mjs';

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A child that dies with this process, however that ends. */
function launch(program, args, stdio) {
  return spawn('setpriv', ['--pdeathsig', 'KILL', program, ...args], { stdio });
}

async function end(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}

/** Servers s1, s2, … in a directory that goes with them. */
export class RealCluster {
  /** Without TLS and limits. */
  static async start(programs, count, options = []) {
    const cluster = new RealCluster(programs, ['--insecure', '--limits', 'off', ...options]);
    for (let i = 1; i <= count; i += 1) await cluster.add(`s${i}`);
    for (const server of cluster.servers) cluster.launch(server);
    try {
      await cluster.led();
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  constructor(programs, options) {
    this.programs = programs;
    this.options = options;
    this.servers = [];
    this.others = [];
    this.folder = mkdtempSync(join(tmpdir(), 'muster-page-'));
  }

  async add(id) {
    this.servers.push({ id, grpc: await freePort(), http: await freePort(), child: null });
  }

  launch(server) {
    const log = openSync(join(this.folder, `${server.id}.log`), 'a');
    server.child = launch(join(this.programs, 'musterd'), ['--id', server.id,
      '--engine', `file://${this.folder}/store`, '--data-dir', join(this.folder, server.id),
      '--listen', `127.0.0.1:${server.grpc}`, '--http-listen', `127.0.0.1:${server.http}`,
      ...this.options], ['ignore', log, log]);
    closeSync(log);
  }

  url(id) {
    return `http://127.0.0.1:${this.server(id).http}/`;
  }
  server(id) {
    return this.servers.find((server) => server.id === id);
  }
  addresses() {
    return this.servers.map(({ grpc }) => `127.0.0.1:${grpc}`).join(',');
  }

  async ask(id, path) {
    const response = await fetch(`${this.url(id)}api/${path}`);
    assert.equal(response.status, 200, `${path}: ${response.status}`);
    return await response.json();
  }

  /** Waits until every server that runs names the same leader, and says which. */
  async led() {
    let leader;
    const running = this.servers.filter(({ child }) => child && child.exitCode === null &&
      child.signalCode === null);
    await until('all servers agree on a leader', async () => {
      assert.ok(running.every(({ child }) => child.exitCode === null), this.logs().join());
      const seen = await Promise.all(running.map(({ id }) =>
        this.ask(id, 'overview').then(({ cluster }) => cluster.leader?.id, () => undefined)));
      leader = seen[0];
      return leader !== undefined && running.some(({ id }) => id === leader) &&
        seen.every((each) => each === leader) || { seen, logs: this.logs() };
    }, 60_000);
    return leader;
  }

  logs() {
    return this.servers.map(({ id }) => readFileSync(join(this.folder, `${id}.log`), 'utf8').slice(-400));
  }

  async kill(id) {
    await end(this.server(id).child, 'SIGKILL');
  }

  /** Another program of Muster, which ends with the cluster. */
  run(program, ...args) {
    const child = launch(join(this.programs, program), args, ['pipe', 'pipe', 'inherit']);
    this.others.push(child);
    return child;
  }

  async stop() {
    for (const child of this.others) await end(child, 'SIGKILL');
    for (const { child } of this.servers) await end(child, 'SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Nodes of one process (page_fleet) that send heartbeats as long as the cluster stands. */
export class Fleet {
  constructor(cluster, beatMs) {
    this.child = cluster.run('page_fleet', cluster.addresses());
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
    this.turn = Promise.resolve();
    // A heartbeat may fail while nobody leads; the next one makes up for it, as with real nodes.
    this.timer = setInterval(() => void this.order('beat').catch(() => undefined), beatMs);
    this.child.on('exit', () => clearInterval(this.timer));
  }

  /** One order at a time; fails with what the fleet says. */
  order(words) {
    const next = this.turn.then(() => undefined, () => undefined).then(async () => {
      this.child.stdin.write(`${words}\n`);
      const { value } = await this.lines.next();
      assert.equal(value, 'done');
    });
    this.turn = next;
    return next;
  }
}
