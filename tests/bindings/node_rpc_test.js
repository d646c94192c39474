'use strict';
// Elections and locks of the Node package by musterd's own services, at three servers.
const assert = require('node:assert/strict');
const {describe, test} = require('node:test');
const {Worker} = require('node:worker_threads');
const muster = require('muster');
const {PATIENCE, eventually, pause, program, rejection, secureMusterd, threeServers} = require('./node_scene.js');

/** An address at the servers that no other test uses. */
let prefixes = 0;
const at = (list) => `grpc://${list}/t${++prefixes}`;

/** True all the time; says when it was not. */
function watched(term) {
  const seen = {valid: true};
  const timer = setInterval(() => (seen.valid &&= term.valid && !term.signal.aborted), 5);
  return {
    seen,
    end: () => {
      clearInterval(timer);
      assert(seen.valid, 'the term was interrupted');
    },
  };
}

describe('with three servers', async () => {
  let cluster;
  test('the servers', async (t) => {
    // They live as long as this describe().
    cluster = await threeServers({after: (act) => ends.push(act)});
    assert((await cluster.leader()).id);
  });
  const ends = [];

  test('lead() leads while the work runs, returns its answer, and releases the lease', async () => {
    const url = at(cluster.list);
    let kept;
    const answer = await muster.lead(url, 'report', async (term) => {
      kept = term;
      assert(term.valid);
      assert(term.left > 0 && term.left <= 20000 * 0.84);
      const arbiter = await muster.open(url);
      await arbiter.probe();
      const watching = await arbiter.stand('report', {campaigns: false});
      assert.deepEqual(await eventually(() => watching.leader), {id: 'a', value: 'h1:80', token: term.token});
      await rejection(watching.wait({timeout: 10}), 'TIMEOUT');
      await rejection(watching.stepDown(), 'CONFLICT');
      await watching.close();
      await arbiter.close();
      return 'done';
    }, {id: 'a', value: 'h1:80', lease: 20000});
    assert.equal(answer, 'done');
    assert(!kept.valid && kept.left === 0 && kept.signal.aborted);
    const began = performance.now();
    await muster.lead(url, 'report', (term) => assert(term.token > kept.token), {id: 'b', lease: 20000});
    assert(performance.now() - began < 12000, 'the lease of the first was waited out');
  });

  test('only one of two processes leads, and the other follows a kill', async (t) => {
    const url = at(cluster.list);
    const first = program(t, `
      muster.lead(a, 'report', (term) => {
        console.log(term.token);
        return new Promise((resolve) => term.signal.addEventListener('abort', resolve));
      }, {id: 'first', lease: 2000});`, url);
    const token = Number(await first.line());
    const arbiter = await muster.open(url);
    const mine = await arbiter.stand('report', {lease: 2000});
    await rejection(mine.wait({timeout: 3000}), 'TIMEOUT');
    assert.equal(mine.leader.id, 'first');
    first.process.kill('SIGKILL');
    const term = await mine.wait({timeout: PATIENCE});
    assert(term.token > token);
    await term.close();
    await mine.close();
    await arbiter.close();
  });

  test('a process that was frozen leads no more, and nothing revives its term', async (t) => {
    const url = at(cluster.list);
    const frozen = program(t, `
      muster.lead(a, 'report', async (term) => {
        console.log(term.token);
        await new Promise((resolve) => term.signal.addEventListener('abort', resolve));
        console.log('over', term.valid);
        await new Promise((resolve) => setTimeout(resolve, 1500));
        console.log('still over', term.valid);
      }, {id: 'first', lease: 1000}).then(() => console.log('left'));`, url);
    const token = Number(await frozen.line());
    frozen.process.kill('SIGSTOP');
    await muster.lead(url, 'report', async (term) => {
      assert(term.token > token);
      frozen.process.kill('SIGCONT');
      assert.equal(await frozen.line(), 'over false');
      assert.equal(await frozen.line(), 'still over false');
      assert.equal(await frozen.line(), 'left');
      assert(term.valid);
    }, {lease: 20000, timeout: PATIENCE});
  });

  test('an abort ends the wait and leaves the election, or asks the work to stop', async () => {
    const url = at(cluster.list);
    const stop = new AbortController();
    await muster.lead(url, 'report', async (term) => {
      const waits = muster.lead(url, 'report', () => assert.fail('there is a leader'),
          {id: 'second', signal: AbortSignal.timeout(500)});
      await assert.rejects(waits, {name: 'TimeoutError'});
      const stopping = new Promise((resolve) => term.signal.addEventListener('abort', resolve));
      stop.abort();
      await stopping;
      assert(term.valid, 'the work may use the lease');
    }, {signal: stop.signal});
  });

  test('stepping down hands over to the preferred one, and asks the work to stop', async () => {
    const arbiter = await muster.open(at(cluster.list));
    const first = await arbiter.stand('report', {id: 'first', lease: 3000});
    const term = await first.wait();
    const others = await Promise.all(['second', 'third'].map((id) => arbiter.stand('report', {id, lease: 3000})));
    await rejection(others[0].stepDown(), 'CONFLICT');
    await eventually(() => others.every((each) => each.leader?.id === 'first'));
    const stopping = new Promise((resolve) => term.signal.addEventListener('abort', resolve));
    await first.stepDown('third');
    await stopping;
    assert(!term.valid);
    await term.close();
    const next = await others[1].wait({timeout: PATIENCE});
    assert.equal(next.token, term.token + 1);
    await next.close();
    await Promise.all([first, ...others].map((each) => each.close()));
    await arbiter.close();
  });

  test('close() asks the work to stop, and waits for it', async () => {
    const arbiter = await muster.open(at(cluster.list));
    const mine = await arbiter.stand('report', {lease: 3000});
    const term = await mine.wait();
    let closed = false;
    const closing = mine.close().then(() => (closed = true));
    await eventually(() => term.signal.aborted);
    assert(!closed);
    await term.close();
    await closing;
    await rejection(mine.wait(), 'CANCELLED');
    await arbiter.close();
  });

  test('the tokens are those of muster:// addresses', async () => {
    const url = at(cluster.list);
    const tokens = [];
    for (const each of [url, url.replace('grpc:', 'muster:'), url]) {
      await muster.lead(each, 'report', ({token}) => tokens.push(token), {lease: 2000, timeout: PATIENCE});
    }
    assert.deepEqual(tokens, [1, 2, 3]);
  });

  test('what the servers refuse is told', async () => {
    const arbiter = await muster.open(at(cluster.list));
    for (const [name, options] of [['a b', {}], ['n', {lease: 10}], ['n', {value: 'x'.repeat(2000)}]]) {
      const refused = await arbiter.stand(name, options);
      await rejection(refused.wait(), 'INVALID');
      await refused.close();
    }
    await rejection(arbiter.lock('a b'), 'INVALID');
    await arbiter.close();
    await rejection(muster.open('grpc://'), 'INVALID', /grpc:\/\/h1/);
  });

  test('in a worker thread, whose end ends its part', async () => {
    const url = at(cluster.list);
    const worker = new Worker(`
      const muster = require('muster');
      const {parentPort, workerData} = require('node:worker_threads');
      muster.lead(workerData, 'report', (term) => {
        parentPort.postMessage(term.token);
        return new Promise(() => setInterval(() => {}, 1000));
      }, {lease: 1500});`, {eval: true, workerData: url});
    const token = await new Promise((resolve) => worker.once('message', resolve));
    await rejection(muster.lead(url, 'report', () => {}, {timeout: 2000}), 'TIMEOUT');
    await worker.terminate();
    await muster.lead(url, 'report', (term) => assert(term.token > token), {timeout: PATIENCE});
  });

  test('a lock is held while the work runs, and released at its end', async () => {
    const url = at(cluster.list);
    await muster.lock(url, 'm', async (lock) => {
      assert(lock.valid);
      assert.equal(lock.token, 1);
      assert(lock.left > 0 && lock.left <= 60000);
      await rejection(muster.lock(url, 'm', () => {}, {ttl: 60000, timeout: 0}), 'TIMEOUT');
      await rejection(muster.lock(url, 'm', () => {}, {ttl: 60000, timeout: 300}), 'TIMEOUT');
      await assert.rejects(muster.lock(url, 'm', () => {}, {signal: AbortSignal.timeout(50)}), {name: 'TimeoutError'});
      await rejection(muster.lock(url.replace('grpc:', 'muster:'), 'm', () => {}, {timeout: 0}), 'TIMEOUT');
      assert(!lock.signal.aborted);
    }, {ttl: 60000});
    await muster.lock(url, 'm', (lock) => assert.equal(lock.token, 2), {timeout: 10000});
  });

  test('a lock may be a semaphore or a read/write lock', async () => {
    const arbiter = await muster.open(at(cluster.list));
    const two = [await arbiter.lock('s', {permits: 2}), await arbiter.lock('s', {permits: 2})];
    await rejection(arbiter.lock('s', {permits: 2, timeout: 0}), 'TIMEOUT');
    await rejection(arbiter.lock('s', {permits: 3}), 'INVALID');
    await Promise.all(two.map((each) => each.close()));
    const readers = [await arbiter.lock('rw', {shared: true}), await arbiter.lock('rw', {shared: true})];
    await rejection(arbiter.lock('rw', {shared: false, timeout: 0}), 'TIMEOUT');
    await Promise.all(readers.map((each) => each.close()));
    const writer = await arbiter.lock('rw', {shared: false, timeout: PATIENCE});
    await rejection(arbiter.lock('rw', {shared: true, timeout: 0}), 'TIMEOUT');
    await writer.close();
    await arbiter.close();
  });

  test('tasks have a lock in the order in which they asked', async () => {
    const arbiter = await muster.open(at(cluster.list));
    const order = [];
    const first = await arbiter.lock('m');
    const tasks = [];
    for (let n = 0; n < 5; ++n) {
      tasks.push(muster.lock(arbiter, 'm', (lock) => order.push([n, lock.token])));
      await pause(100); // So that they ask in this order.
    }
    await first.close();
    await Promise.all(tasks);
    assert.deepEqual(order, [[0, 2], [1, 3], [2, 4], [3, 5], [4, 6]]);
    await arbiter.close();
  });

  test('a frozen holder learns that it lost the lock', async (t) => {
    const url = at(cluster.list);
    const holder = program(t, `
      muster.lock(a, 'm', async (lock) => {
        console.log('held', lock.token);
        await new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
        console.log('lost', lock.valid);
      }, {ttl: 1000});`, url);
    assert.equal(await holder.line(), 'held 1');
    holder.process.kill('SIGSTOP');
    await muster.lock(url, 'm', async (lock) => {
      assert.equal(lock.token, 2);
      holder.process.kill('SIGCONT');
      assert.equal(await holder.line(), 'lost false');
      assert(lock.valid);
    }, {timeout: PATIENCE, ttl: 20000});
  });

  // Last: it kills servers.
  test('the death of the leading server ends no term and no lock', async () => {
    const arbiter = await muster.open(at(cluster.list));
    const leadership = await arbiter.stand('report', {lease: 15000});
    const term = await leadership.wait();
    const lock = await arbiter.lock('m', {ttl: 15000});
    const both = [watched(term), watched(lock)];
    for (let round = 0; round < 2; ++round) {
      const before = term.left;
      const killed = await cluster.leader();
      await killed.server.kill();
      await eventually(() => term.left > before && term.left > 15000 * 0.84 - 1000);
      await pause(5000); // The lock is renewed, too.
      killed.server = killed.start();
      assert.notEqual((await cluster.leader()).id, killed.id);
    }
    both.forEach((each) => each.end());
    assert.equal(term.token, leadership.leader.token);
    await rejection(arbiter.lock('m', {timeout: 0}), 'TIMEOUT');
    await lock.close();
    await term.close();
    await leadership.close();
    await arbiter.close();
  });

  test('the end', async () => {
    for (const end of ends.reverse()) await end();
  });
});

test('with TLS', async (t) => {
  const {address, files} = await secureMusterd(t);
  const arbiter = await muster.open(`grpc://${address}`, files);
  await muster.lead(arbiter, 'report', (term) => assert(term.valid), {timeout: PATIENCE});
  await muster.lock(arbiter, 'm', (lock) => assert(lock.valid), {timeout: PATIENCE});
  await arbiter.close();
});
