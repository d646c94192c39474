'use strict';
// Nodes of the Node package, on real servers.
const assert = require('node:assert/strict');
const {test} = require('node:test');
const muster = require('muster');
const {PATIENCE, eventually, musterd, rejection, secureMusterd} = require('./node_scene.js');

async function cluster(t, ...more) {
  const {address, server} = await musterd(t, ...more);
  const made = new muster.Cluster(address);
  t.after(() => made.close());
  return {made, address, server};
}

test('nodes are registered, found and gone', async (t) => {
  const {made} = await cluster(t);
  const directory = await made.follow();
  assert.deepEqual(directory.nodes(), []);
  assert.deepEqual(directory.owners('hello'), []);
  const wanted = Array.from({length: 70}, (_, n) => ({id: `node-${n}`, address: '127.0.0.1', port: 7000 + n}));
  const members = await Promise.all(wanted.map((node) => made.register(node)));
  await eventually(() => directory.nodes().filter(({state}) => state === 'ACTIVE').length === 70);
  const owners = directory.owners('hello');
  assert.equal(owners.length, 3);
  assert.deepEqual(directory.owners('hello', 1), owners.slice(0, 1));
  assert.deepEqual({...owners[0], id: '', port: 0, generation: ''},
      {id: '', address: '127.0.0.1', port: 0, service: 'object', tags: {}, weight: 1, generation: '', state: 'ACTIVE'});
  assert(directory.has(owners[0].id, owners[0].generation) && !directory.has(owners[0].id, 'another'));
  const later = await made.follow(); // From a full topology.
  assert.deepEqual(later.nodes(), directory.nodes());
  assert.deepEqual(later.owners('hello'), owners);
  await later.close();
  const before = directory.version;
  await Promise.all(members.map((each) => each.close()));
  await eventually(() => directory.nodes().length === 0);
  assert(directory.version > before);
  await directory.close();
});

test('changed() resolves after a change, and not before', async (t) => {
  const {made} = await cluster(t);
  const directory = await made.follow();
  await rejection(directory.changed({timeout: 100}), 'TIMEOUT');
  const changed = directory.changed({timeout: PATIENCE});
  const member = await made.register({id: 'a', address: 'h1', port: 1, service: 'frontend', weight: 3});
  await changed;
  await eventually(() => directory.nodes().some(({service, weight}) => service === 'frontend' && weight === 3));
  await member.close();
  const closed = assert.rejects(directory.changed(), {code: 'CANCELLED'});
  await directory.close();
  await closed;
});

test('each service has its nodes, and a ring of its own', async (t) => {
  const {made} = await cluster(t);
  const tags = {zone: 'a', version: '1.2'};
  const members = await Promise.all([
    made.register({id: 'r1', address: 'h1', port: 1, service: 'report', tags}),
    made.register({id: 'r2', address: 'h1', port: 2, service: 'report'}),
    made.register({id: 'o1', address: 'h1', port: 3}),
  ]);
  const reports = await made.follow({service: 'report'});
  const others = await made.follow();
  assert.deepEqual(reports.nodes().map(({id, service, tags}) => [id, service, tags]),
      [['r1', 'report', tags], ['r2', 'report', {}]]);
  assert.deepEqual(reports.owners('key').map(({id}) => id).sort(), ['r1', 'r2']);
  assert.deepEqual(others.owners('key').map(({id}) => id), ['o1']);
  await members[0].close();
  await eventually(() => reports.nodes().length === 1);
  await rejection(made.follow({service: '*'}), 'INVALID');
  await rejection(made.follow({service: 'No such'}), 'INVALID');
  await Promise.all([reports.close(), others.close(), members[1].close(), members[2].close()]);
});

test('a process learns that another one has registered its node', async (t) => {
  const {made} = await cluster(t);
  const node = {id: 'a', address: '127.0.0.1', port: 7000};
  const first = await made.register(node);
  await rejection(made.register({...node, port: 7001}), 'CONFLICT', /a/);
  const second = await made.register(node); // The same place: a new process of it.
  await eventually(() => first.signal.aborted);
  assert.equal(first.signal.reason.code, 'CONFLICT');
  await first.close(); // Leaves the other one alone.
  const directory = await made.follow();
  assert.deepEqual(directory.nodes().map(({id}) => id), ['a']);
  await directory.close();
  await second.close();
});

test('mistakes with nodes are told', async (t) => {
  const {made} = await cluster(t);
  for (const wrong of [{id: '-'}, {id: 'n'.repeat(200)}, {port: 70000}, {port: 0}, {weight: 0}, {service: 'No such'}]) {
    await rejection(made.register({id: 'n', address: '127.0.0.1', port: 1, ...wrong}), 'INVALID');
  }
  assert.throws(() => new muster.Cluster('nonsense'), {code: 'INVALID'});
  assert.throws(() => new muster.Cluster(''), {code: 'INVALID'});
  assert.throws(() => new muster.Cluster('h:1', {caFile: '/nowhere', certFile: '/nowhere', keyFile: '/nowhere'}), /nowhere/);
  assert.throws(() => new muster.Cluster('h:1', {caFile: '/nowhere'}), {code: 'INVALID'});
  const stop = AbortSignal.abort(new Error('enough'));
  await assert.rejects(made.register({id: 'n', address: 'h', port: 1}, {signal: stop}), /enough/);
  const nobody = new muster.Cluster('127.0.0.1:1');
  await rejection(nobody.follow({timeout: 300}), 'TIMEOUT');
  await assert.rejects(nobody.register({id: 'n', address: 'h', port: 1}, {signal: AbortSignal.timeout(100)}),
      {name: 'TimeoutError'});
  nobody.close();
});

test('with TLS', async (t) => {
  const {address, files} = await secureMusterd(t);
  const made = new muster.Cluster(address, files);
  const member = await made.register({id: 'a', address: '127.0.0.1', port: 7000});
  await member.close();
  made.close();
  const stranger = new muster.Cluster(address);
  await rejection(stranger.follow({timeout: 1000}), 'TIMEOUT');
  stranger.close();
});
