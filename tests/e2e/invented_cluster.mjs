// A server in memory that speaks the API of musterd about a cluster that does not exist: for what a
// real one cannot be brought to within seconds, such as ten thousand nodes in every state, an open
// breaker, or an event stream with a gap. Everything it says follows from its seed.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const types = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8', svg: 'image/svg+xml' };
const stepMs = 5000;

/** A small generator of numbers in 0..1, the same ones for the same seed. */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export class InventedCluster {
  constructor({ page, nodes = 40, virtualNodes = 16, seed = 7 }) {
    this.page = page;
    this.chance = random(seed);
    this.virtualNodes = virtualNodes;
    this.began = Date.now() - 41 * 60_000;
    this.version = 4711;
    this.staleMs = 0;
    this.epoch = 12;
    this.leader = 's2';
    this.leaderSince = this.began;
    this.decisions = [];
    this.streams = new Set();
    this.sockets = new Set();
    this.nodes = Array.from({ length: nodes }, (_, i) => this.inventNode(i));
    this.placeOnRing();
    this.inventPast();
  }

  // What a test makes happen.

  lead(id, why) {
    this.epoch += 1;
    this.decide({ kind: 'leader', subject: id, from: this.leader ?? '', to: id, cause: 'lease',
      text: `${id} leads with epoch ${this.epoch}: ${why}` });
    this.leader = id;
    this.leaderSince = Date.now();
    this.send('overview', this.overview());
  }

  change(id, state, text) {
    const node = this.nodes.find((each) => each.id === id);
    const from = node.state;
    Object.assign(node, { state, stateSinceMs: Date.now() });
    this.version += 1;
    this.decide({ kind: 'transition', subject: id, from, to: state, cause: 'silence', text });
    this.send('change', { version: this.version, upserts: [this.row(node)], removed: [] });
    this.send('overview', this.overview());
  }

  decide(decision) {
    const full = { seq: this.decisions.length + 1, atMs: Date.now(), epoch: this.epoch, ...decision };
    this.decisions.push(full);
    this.send('decision', full, full.seq);
  }

  send(event, data, id) {
    const text = `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\n` +
      `data: ${JSON.stringify(data)}\n\n`;
    for (const stream of this.streams) stream.write(text);
  }

  async listen(port = 0) {
    this.server = createServer((request, response) => void this.answer(request, response));
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
    await new Promise((resolve) => this.server.listen(port, '127.0.0.1', resolve));
    this.port = this.server.address().port;
    this.timers = [
      setInterval(() => this.send('overview', this.overview()), 1000),
      setInterval(() => this.send('sample', { atMs: Date.now(), ...this.measure(Date.now()) }), stepMs),
    ];
    return `http://127.0.0.1:${this.port}/`;
  }

  /** As when the process dies: connections break. `listen(port)` starts it again. */
  async stop() {
    this.timers?.forEach(clearInterval);
    this.streams.clear();
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  // What it says.

  async answer(request, response) {
    const url = new URL(request.url, 'http://localhost');
    if (!url.pathname.startsWith('/api/')) return await this.file(url.pathname, response);
    const path = url.pathname.slice('/api/'.length);
    if (path === 'events') return this.stream(request, response);
    const body = this.ask(path, url.searchParams);
    const text = JSON.stringify(body ? { ...this.about(), ...body } : { error: 'There is no such node.' });
    response.writeHead(body ? 200 : 404, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
    return response.end(text);
  }

  ask(path, query) {
    const explained = /^node\/([^/]+)\/explain$/.exec(path);
    if (explained) return this.explain(decodeURIComponent(explained[1]));
    switch (path) {
      case 'overview': return this.overview();
      case 'nodes': return this.listNodes(query);
      case 'ring': return this.ring();
      case 'ring/plan': return this.plan(query.get('remove'));
      case 'namespaces': return this.namespaces();
      case 'decisions': return this.listDecisions(query);
      case 'series': return this.series(Number(query.get('minutes') ?? 15));
      default: return null;
    }
  }

  about() {
    return { server: 's1', version: this.version, staleMs: this.staleMs };
  }

  overview() {
    const counts = { joining: 0, active: 0, suspect: 0, draining: 0, down: 0, total: this.nodes.length };
    for (const { state } of this.nodes) counts[state] += 1;
    const servers = ['s1', 's2', 's3'].map((id, i) => ({
      id, address: `10.0.0.${i + 1}:9000`, role: id === this.leader ? 'leader' : 'follower',
      epoch: this.epoch, appliedIndex: 81_204 - i, lagEntries: id === this.leader ? 0 : i,
      lastSeenMs: i * 120, version: '0.1.0',
    }));
    const leader = this.leader && {
      id: this.leader, address: servers.find(({ id }) => id === this.leader)?.address ?? '',
      epoch: this.epoch, sinceMs: this.leaderSince, why: 'The lease of s1 ran out and this server was first.',
    };
    return { ...this.about(), cluster: { leader, engine: 'managed',
      engineHealth: '3 of 3 members answer', logHead: 81_204, logId: 'c0ffee' },
    health: { healthy: Boolean(leader), reason: leader ? '' : 'no quorum: 1 of 3 servers up; start s2 or s3' },
    servers, counts, watchers: 212, build: { version: '0.1.0', commit: 'abc1234' } };
  }

  row(node) {
    const silent = node.state === 'suspect' ? 50_000 : node.state === 'down' ? 400_000 : 0;
    const { slot: phase } = node;
    return { ...node, lastHeartbeatAgeMs: silent + (Date.now() + phase * 37) % 10_000,
      stateAgeMs: Math.max(0, Date.now() - node.stateSinceMs),
      share: this.shares.get(node.id) ?? 0 };
  }

  listNodes(query) {
    const q = (query.get('q') ?? '').toLowerCase();
    const wanted = this.nodes.filter((node) =>
      (!query.get('state') || node.state === query.get('state')) &&
      (!query.get('service') || node.service === query.get('service')) &&
      (!query.get('tag') || query.get('tag').split('=')[1] === node.tags[query.get('tag').split('=')[0]]) &&
      (node.id.includes(q) || node.address.includes(q))).map((node) => this.row(node));
    const by = query.get('sort') === 'age' ? 'lastHeartbeatAgeMs' : query.get('sort') ?? 'id';
    const sign = query.get('order') === 'desc' ? -1 : 1;
    wanted.sort((a, b) => a[by] < b[by] ? -sign : a[by] > b[by] ? sign : 0);
    const offset = Number(query.get('offset') ?? 0);
    return { total: wanted.length, services: this.services(),
      nodes: wanted.slice(offset, offset + Number(query.get('limit') ?? 200)) };
  }

  services() {
    return [...new Set(this.nodes.map(({ service }) => service))].sort();
  }

  ring() {
    const step = Math.max(1, this.points.length / 4096);
    const points = [];
    for (let i = 0; i < this.points.length; i += step) points.push(this.points[Math.floor(i)]);
    return { virtualNodes: this.virtualNodes, service: null, services: this.services(), thinned: step > 1, points,
      nodes: this.members.map(({ id, state }) =>
        ({ id, share: this.shares.get(id), flagged: state === 'suspect' })) };
  }

  plan(remove) {
    const leaver = this.members.findIndex(({ id }) => id === remove);
    const moved = new Map();
    this.points.forEach(([at, owner], i) => {
      if (owner !== leaver) return;
      const before = this.points.at(i - 1)[0];
      const share = at > before ? at - before : at + 1 - before;
      let heir = i;
      do heir = (heir + 1) % this.points.length; while (this.points[heir][1] === leaver && heir !== i);
      const to = this.members[this.points[heir][1]].id;
      moved.set(to, (moved.get(to) ?? 0) + share);
    });
    const moves = [...moved].map(([to, share]) => ({ from: remove, to, share }))
      .sort((a, b) => b.share - a.share).slice(0, 100);
    return { movedShare: this.shares.get(remove) ?? 0, moves };
  }

  namespaces() {
    const left = 15_000 - (Date.now() % 5000);
    return { namespaces: [
      { name: 'billing', leader: 'billing-7f9c', epoch: 31, leaseLeftMs: left, workers: 6, sinceMs: this.began },
      { name: 'default', leader: 'worker-a', epoch: 4, leaseLeftMs: left - 900, workers: 3, sinceMs: this.began },
      { name: 'reports', leader: null, epoch: 9, leaseLeftMs: 0, workers: 0, sinceMs: this.began },
    ] };
  }

  listDecisions(query) {
    const q = (query.get('q') ?? '').toLowerCase();
    const since = Number(query.get('since') ?? 0);
    const found = this.decisions.filter(({ seq, kind, subject, cause, text }) => seq > since &&
      [kind, subject, cause, text].some((each) => each.toLowerCase().includes(q)));
    return { decisions: found.slice(-Number(query.get('limit') ?? 200)), oldest: 1,
      newest: this.decisions.length };
  }

  explain(id) {
    const node = this.nodes.find((each) => each.id === id);
    return node && { node: this.row(node),
      timeline: this.decisions.filter(({ subject }) => subject === id) };
  }

  series(minutes) {
    const length = minutes * 60_000 / stepMs;
    const startMs = Date.now() - length * stepMs;
    const series = {};
    for (let i = 0; i < length; i += 1) {
      for (const [name, value] of Object.entries(this.measure(startMs + i * stepMs))) {
        (series[name] ??= []).push(value);
      }
    }
    return { startMs, stepMs, series };
  }

  measure(atMs) {
    const wave = Math.sin(atMs / 40_000) + Math.sin(atMs / 17_000) / 2;
    const round = (value) => Math.round(value * 100) / 100;
    return { heartbeatP50Ms: round(1.2 + wave * 0.2), heartbeatP95Ms: round(3.1 + wave * 0.7),
      heartbeatP99Ms: round(6.4 + wave * 1.9), batchSize: Math.round(320 + wave * 40),
      commitsPerSecond: round(5.5 + wave), watchers: 212 + Math.round(wave * 3) };
  }

  stream(request, response) {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    this.streams.add(response);
    response.on('close', () => this.streams.delete(response));
    const write = (event, data, id) => response.write(
      `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    write('hello', this.about());
    write('overview', this.overview());
    const last = request.headers['last-event-id'];
    if (last === undefined) return;
    for (const decision of this.decisions.slice(Number(last))) write('decision', decision, decision.seq);
  }

  async file(path, response) {
    const file = join(this.page, path === '/' ? 'index.html' : path.replaceAll('..', ''));
    const known = await stat(file).catch(() => null);
    response.writeHead(known?.isFile() ? 200 : 404, {
      'Content-Type': types[file.split('.').pop()] ?? 'text/plain', 'Content-Security-Policy': policy,
      'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer', 'Cache-Control': 'no-cache',
    });
    if (known?.isFile()) createReadStream(file).pipe(response);
    else response.end();
  }

  // How it came to be.

  inventNode(i) {
    const luck = this.chance();
    const state = luck < 0.93 ? 'active' : luck < 0.95 ? 'suspect' : luck < 0.97 ? 'draining'
      : luck < 0.98 ? 'joining' : 'down';
    const service = ['object', 'object', 'metadata', 'frontend'][i % 4];
    return {
      id: `node-${String(i + 1).padStart(5, '0')}`, type: service, service,
      tags: i % 8 === 1 ? { zone: 'abc'[i % 3] } : {},
      address: `10.${1 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`, port: 7000, state, slot: i,
      generation: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
      flaps: this.chance() < 0.05 ? Math.ceil(this.chance() * 4) : 0,
      registeredAtMs: this.began, stateSinceMs: this.began + Math.floor(this.chance() * 2_000_000),
    };
  }

  placeOnRing() {
    this.members = this.nodes.filter(({ state }) => state === 'active' || state === 'suspect');
    this.points = this.members.flatMap((_, node) =>
      Array.from({ length: this.virtualNodes }, () => [this.chance(), node])).sort((a, b) => a[0] - b[0]);
    this.shares = new Map();
    this.points.forEach(([at, node], i) => {
      const share = i === 0 ? at + 1 - this.points.at(-1)[0] : at - this.points[i - 1][0];
      const { id } = this.members[node];
      this.shares.set(id, (this.shares.get(id) ?? 0) + share);
    });
  }

  inventPast() {
    const past = (minutesAgo, decision) => this.decisions.push({ seq: this.decisions.length + 1,
      atMs: Date.now() - minutesAgo * 60_000, epoch: this.epoch, ...decision });
    past(41, { kind: 'leader', subject: 's2', from: 's1', to: 's2', cause: 'lease',
      text: 's2 leads with epoch 12: the lease of s1 ran out and s2 was first.' });
    past(40.9, { kind: 'server', subject: 's1', from: 'leader', to: 'follower', cause: 'epoch',
      text: 's1 follows again after it had been silent for 2.4 s.' });
    this.nodes.filter(({ state }) => state !== 'active').slice(0, 60).forEach(({ id, state }, i) => past(
      40 - i / 2, { kind: 'transition', subject: id, from: 'active', to: state, cause: 'silence',
        text: `${id} became ${state.toUpperCase()}: no heartbeat for 45.2 s, 45 s are allowed; ` +
          'damping was off and no grace was in force.' }));
    past(6, { kind: 'brake', subject: 'detector', from: 'off', to: 'on', cause: 'many at once',
      text: 'The brake holds 3 nodes back from DOWN: 5 went down within 60 s, and that is the most.' });
    past(4, { kind: 'breaker', subject: 'namespace=billing', from: '', to: 'billing-2', cause: 'ended',
      text: 'billing-2 of namespace=billing reaches the store again; it could not from 12:01:03 UTC for ' +
        '31s: 5 heartbeats failed, and its breaker opened' });
    past(3.8, { kind: 'breaker', subject: 'namespace=default', from: '', to: 'worker-b', cause: 'ended',
      text: 'worker-b of namespace=default reaches the store again; it could not from 12:00:41 UTC for ' +
        '93.2s: 7 heartbeats failed, and its breaker opened 3 times' });
    past(1, { kind: 'displaced', subject: 'billing', from: '', to: '', cause: 'epoch',
      text: 'billing-7f9c took the leadership of namespace=billing while the lease of billing-2a1d stood, epoch 31' });
  }
}
