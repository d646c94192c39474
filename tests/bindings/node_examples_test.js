'use strict';
// The examples of the Node package, as they stand.
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const {test} = require('node:test');
const {Child, PACKAGE, folder, musterd} = require('./node_scene.js');

const example = (t, name, ...parameters) =>
  new Child(t, process.execPath, [path.join(PACKAGE, 'examples', name), ...parameters]);

test('each has at most twenty lines', () => {
  const names = fs.readdirSync(path.join(PACKAGE, 'examples'));
  assert(names.length >= 2);
  for (const name of names) {
    const text = fs.readFileSync(path.join(PACKAGE, 'examples', name), 'utf8');
    const lines = text.split('\n').filter((line) => line.trim() && !line.startsWith('//'));
    assert(lines.length <= 20, `${name}: ${lines.length}`);
  }
});

test('lead', async (t) => {
  const url = `file://${folder(t)}/store`;
  const first = example(t, 'lead.js', url, 'report');
  assert.equal(await first.line(), 'working, token 1');
  const second = example(t, 'lead.js', url, 'report');
  first.process.kill('SIGTERM');
  assert.equal(await first.exit(), 0);
  assert.equal(await second.line(), 'working, token 2');
});

test('lock', async (t) => {
  const url = `file://${folder(t)}/store`;
  for (const token of [1, 2]) {
    const holder = example(t, 'lock.js', url, 'migration');
    assert.equal(await holder.line(), `holding migration, token ${token}`);
    assert.equal(await holder.exit(), 0);
  }
});

test('nodes', async (t) => {
  const {address} = await musterd(t);
  const node = example(t, 'nodes.js', address, 'store-1', '7000', 'hello');
  assert.equal(await node.line(), 'store-1 127.0.0.1:7000');
  assert.equal(await node.exit(), 0);
});
