'use strict';
// Elections and locks of the Node package over the library.
const assert = require('node:assert/strict');
const {setMaxListeners} = require('node:events');
const fs = require('node:fs');
const {describe, test} = require('node:test');
const {Worker} = require('node:worker_threads');
const muster = require('muster');
const {PATIENCE, eventually, folder, musterd, pause, program, rejection, secureMusterd} = require('./node_scene.js');

const url = (t) => `file://${folder(t)}/store`;

/** What one part of an election does, for as long as the test lasts. */
async function stands(t, arbiter, options) {
  const leadership = await arbiter.stand('report', options);
  t.after(() => leadership.close());
  return leadership;
}

async function memory(t) {
  const arbiter = await muster.open('memory:');
  t.after(() => arbiter.close());
  return arbiter;
}

describe('lead', () => {
  test('leads while the work runs, returns its answer, and releases the lease at its end', async (t) => {
    const where = url(t);
    let kept;
    const answer = await muster.lead(where, 'report', async (term) => {
      kept = term;
      assert.equal(term.valid, true);
      assert.equal(term.token, 1);
      assert(term.left > 0 && term.left <= 20000);
      const arbiter = await muster.open(where);
      const watching = await arbiter.stand('report', {id: 'b', campaigns: false});
      assert.deepEqual(await eventually(() => watching.leader), {id: 'a', value: 'h1:80', token: 1});
      await watching.close();
      await arbiter.close();
      return 'done';
    }, {id: 'a', value: 'h1:80', lease: 20000});
    assert.equal(answer, 'done');
    assert.equal(kept.valid, false);
    assert.equal(kept.left, 0);
    assert.equal(kept.signal.aborted, true);
    const began = performance.now();
    await muster.lead(where, 'report', (term) => assert.equal(term.token, 2), {id: 'c', lease: 20000});
    assert(performance.now() - began < 10000, 'the lease of the first was waited out');
  });

  test('what the work throws comes out, and the lease is released', async (t) => {
    const where = url(t);
    await assert.rejects(muster.lead(where, 'report', () => { throw new RangeError('x'); }, {lease: 20000}), RangeError);
    await muster.lead(where, 'report', (term) => assert(term.valid), {lease: 20000, timeout: 10000});
  });

  test('only one of two processes leads, and the other follows a kill', async (t) => {
    const where = url(t);
    const first = program(t, `
      muster.lead(a, 'report', (term) => {
        console.log('leads', term.token);
        return new Promise((resolve) => setTimeout(resolve, 60000));
      }, {id: 'first', lease: 1000});`, where);
    assert.equal(await first.line(), 'leads 1');
    const arbiter = await muster.open(where);
    const mine = await arbiter.stand('report', {lease: 1000});
    await rejection(mine.wait({timeout: 1500}), 'TIMEOUT');
    first.process.kill('SIGKILL');
    const term = await mine.wait({timeout: PATIENCE});
    assert.equal(term.token, 2);
    await term.close();
    await mine.close();
    await arbiter.close();
  });

  test('an abort ends the wait and leaves the election', async (t) => {
    const arbiter = await memory(t);
    const first = await stands(t, arbiter, {id: 'first'});
    const term = await first.wait();
    const stop = new AbortController();
    const waits = muster.lead(arbiter, 'report', () => assert.fail('there is a leader'),
        {id: 'second', signal: stop.signal});
    await pause(50);
    stop.abort(new Error('enough'));
    await assert.rejects(waits, /enough/);
    assert(term.valid);
    const again = await arbiter.stand('report', {id: 'second'}); // The id is free again: it has left.
    await again.close();
    await assert.rejects(muster.lead(arbiter, 'report', () => {}, {signal: AbortSignal.abort()}), {name: 'AbortError'});
    await term.close();
  });

  test('an abort asks the work to stop', async (t) => {
    const stop = new AbortController();
    await muster.lead(await memory(t), 'report', async (term) => {
      const stopping = new Promise((resolve) => term.signal.addEventListener('abort', resolve));
      stop.abort();
      await stopping;
      assert(term.valid, 'the work may use the lease');
    }, {signal: stop.signal});
  });

  test('stepping down hands over and asks the work to stop', async (t) => {
    const arbiter = await memory(t);
    const first = await stands(t, arbiter, {id: 'first', lease: 2000});
    const term = await first.wait();
    const second = await stands(t, arbiter, {id: 'second', lease: 2000});
    await rejection(second.stepDown(), 'CONFLICT');
    const stopping = new Promise((resolve) => term.signal.addEventListener('abort', resolve));
    await first.stepDown();
    await stopping;
    assert.equal(term.signal.reason.code, 'CANCELLED');
    await term.close();
    const next = await second.wait({timeout: PATIENCE});
    assert.equal(next.token, 2);
    await next.close();
  });

  test('close ends a wait', async (t) => {
    const arbiter = await memory(t);
    const first = await stands(t, arbiter, {id: 'first'});
    const held = await first.wait();
    const second = await arbiter.stand('report', {id: 'second'});
    const waits = second.wait();
    const failed = assert.rejects(waits, (error) => ['CANCELLED', 'INVALID'].includes(error.code));
    await second.close();
    await failed;
    assert(held.valid);
    await held.close();
  });

  test('things may be closed in any order, and twice', async () => {
    const arbiter = await muster.open('memory:');
    const mine = await arbiter.stand('report');
    const term = await mine.wait();
    await Promise.all([arbiter.close(), arbiter.close()]);
    assert(term.valid);
    const over = mine.close();
    await eventually(() => !term.valid);
    await term.close();
    await Promise.all([over, term.close(), mine.close()]);
    await rejection(mine.wait({timeout: 0}), 'INVALID', /closed/);
    await rejection(arbiter.stand('report'), 'INVALID', /closed/);
  });

  test('mistakes are told', async (t) => {
    const arbiter = await memory(t);
    await rejection(muster.open('nonsense://x'), 'INVALID', /nonsense/);
    await rejection(muster.open('file:///x\0y'), 'INVALID', /character 0/);
    await rejection(arbiter.stand('a b'), 'INVALID', /election name/);
    await rejection(arbiter.stand('n', {lease: 10}), 'INVALID', /lease/);
    await rejection(arbiter.stand('n', {lease: '6s'}), 'INVALID', /6s/);
    await rejection(muster.open('etcd://localhost:1', {certFile: '/nowhere.crt', keyFile: '/nowhere.key'}), 'INVALID',
        /nowhere/);
    const files = await muster.open(url(t));
    await files.probe();
    await files.close();
    assert.match(muster.version(), /^\d+\.\d+\.\d+$/);
  });

  test('trouble is there to be fetched', async (t) => {
    const where = folder(t);
    fs.mkdirSync(`${where}/store`);
    const arbiter = await muster.open(`file://${where}/store`);
    const mine = await arbiter.stand('report', {lease: 1000});
    const term = await mine.wait();
    fs.renameSync(`${where}/store`, `${where}/moved`);
    const troubles = await eventually(() => (troubles => troubles.length && troubles)(mine.troubles()));
    assert(troubles.every((each) => each instanceof muster.MusterError));
    await eventually(() => term.signal.aborted);
    await term.close();
    await mine.close();
    await arbiter.close();
  });

  test('on a server of musterd', async (t) => {
    const {address} = await musterd(t);
    await muster.lead(`muster://${address}/app`, 'report', (term) => assert(term.valid), {lease: 2000, timeout: PATIENCE});
  });

  test('on a server of musterd with TLS', async (t) => {
    const {address, files} = await secureMusterd(t);
    const arbiter = await muster.open(`muster://${address}/app`, files);
    await muster.lead(arbiter, 'report', (term) => assert(term.valid), {lease: 2000, timeout: PATIENCE});
    await arbiter.close();
  });
});

describe('the event loop', () => {
  test('goes on while many wait, and files can be read meanwhile', async (t) => {
    const arbiter = await memory(t);
    const first = await stands(t, arbiter, {id: 'first'});
    const term = await first.wait();
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const waits = Array.from({length: 20}, (_, n) =>
        assert.rejects(muster.lead(arbiter, 'report', () => {}, {id: `n${n}`, signal: stop.signal})));
    await pause(200);
    let longest = 0;
    const until = performance.now() + 500;
    for (let before = performance.now(); before < until; ) {
      await fs.promises.readFile(__filename);
      await pause(1);
      longest = Math.max(longest, performance.now() - before);
      before = performance.now();
    }
    assert(longest < 400, `it stood still for ${longest} ms`);
    stop.abort();
    await Promise.all(waits);
    await term.close();
  });

  test('is kept alive by listening to a term, until that is closed', async (t) => {
    const listens = program(t, `
      muster.open('memory:').then(async (arbiter) => {
        const leadership = await arbiter.stand('report');
        const term = await leadership.wait();
        term.signal.addEventListener('abort', () => console.log('over'));
        setTimeout(() => term.close(), 1000).unref();
      });`);
    assert.equal(await listens.line(), 'over');
    assert.equal(await listens.exit(), 0);
  });

  test('is not kept alive by a term that nobody listens to', async (t) => {
    const ends = program(t, `
      muster.open('memory:').then(async (arbiter) => {
        const leadership = await arbiter.stand('report');
        console.log('leads', (await leadership.wait()).token);
      });`);
    assert.equal(await ends.line(), 'leads 1');
    assert.equal(await ends.exit(), 0);
  });

  test('process.exit() during a term ends with its code', async (t) => {
    const ends = program(t, `muster.lead(a, 'report', () => process.exit(7));`, url(t));
    assert.equal(await ends.exit(), 7);
  });

  test('a worker thread is told to lead in another way', async (t) => {
    const worker = new Worker(`
      const muster = require('muster');
      const {parentPort} = require('node:worker_threads');
      muster.open('memory:').catch((error) => parentPort.postMessage([error.code, error.message]));`, {eval: true});
    const [code, message] = await new Promise((resolve) => worker.once('message', resolve));
    assert.equal(code, 'INVALID');
    assert.match(message, /main thread/);
    await worker.terminate();
  });
});

describe('lock', () => {
  test('is held while the work runs, and released at its end', async (t) => {
    const where = url(t);
    await muster.lock(where, 'm', async (lock) => {
      assert(lock.valid);
      assert.equal(lock.token, 1);
      assert(lock.left > 0 && lock.left <= 60000);
      await rejection(muster.lock(where, 'm', () => {}, {ttl: 60000, timeout: 0}), 'TIMEOUT');
      await rejection(muster.lock(where, 'm', () => {}, {ttl: 60000, timeout: 300}), 'TIMEOUT');
      await assert.rejects(muster.lock(where, 'm', () => {}, {signal: AbortSignal.timeout(50)}), {name: 'TimeoutError'});
      assert(!lock.signal.aborted);
    }, {ttl: 60000});
    await muster.lock(where, 'm', (lock) => assert.equal(lock.token, 2), {ttl: 60000, timeout: 10000});
  });

  test('may be a semaphore or a read/write lock', async (t) => {
    const arbiter = await memory(t);
    const two = [await arbiter.lock('s', {permits: 2}), await arbiter.lock('s', {permits: 2})];
    await rejection(arbiter.lock('s', {permits: 2, timeout: 0}), 'TIMEOUT');
    await rejection(arbiter.lock('s', {permits: 3}), 'INVALID', /2 permits/);
    await rejection(arbiter.lock('s', {permits: -1}), 'INVALID');
    await Promise.all(two.map((each) => each.close()));
    const readers = [await arbiter.lock('rw', {shared: true}), await arbiter.lock('rw', {shared: true})];
    await rejection(arbiter.lock('rw', {shared: false, timeout: 0}), 'TIMEOUT');
    await Promise.all(readers.map((each) => each.close()));
    const writer = await arbiter.lock('rw', {shared: false, timeout: PATIENCE});
    await rejection(arbiter.lock('rw', {shared: true, timeout: 0}), 'TIMEOUT');
    await writer.close();
  });

  test('excludes tasks of one process from each other', async (t) => {
    const arbiter = await memory(t);
    const inside = [];
    const tokens = [];
    await Promise.all(Array.from({length: 8}, (_, n) => muster.lock(arbiter, 'm', async (lock) => {
      assert.deepEqual(inside, []);
      inside.push(n);
      tokens.push(lock.token);
      await pause(10);
      inside.pop();
    }, {ttl: 2000})));
    assert.deepEqual(tokens, [...new Set(tokens)].sort((a, b) => a - b));
    assert.equal(tokens.length, 8);
  });

  test('a frozen holder learns that it lost it', async (t) => {
    const {address} = await musterd(t);
    const where = `muster://${address}/app`;
    const holder = program(t, `
      muster.lock(a, 'm', async (lock) => {
        console.log('held', lock.token);
        await new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
        console.log('lost', lock.valid);
      }, {ttl: 1000});`, where);
    assert.equal(await holder.line(), 'held 1');
    holder.process.kill('SIGSTOP');
    await muster.lock(where, 'm', async (lock) => {
      assert.equal(lock.token, 2);
      holder.process.kill('SIGCONT');
      assert.equal(await holder.line(), 'lost false');
      assert(lock.valid);
    }, {timeout: PATIENCE});
  });
});
