'use strict';
// The types of the Node package, and that it can be imported in every way.
const assert = require('node:assert/strict');
const {execFileSync} = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const {test} = require('node:test');
const muster = require('muster');
const {PACKAGE, folder} = require('./node_scene.js');

const modules = process.env.NODE_PATH.split(':')[0];

/** A directory in which the package is installed, as far as a compiler sees. */
function project(t) {
  const root = folder(t);
  fs.mkdirSync(`${root}/node_modules/@types`, {recursive: true});
  fs.symlinkSync(PACKAGE, `${root}/node_modules/muster`);
  for (const each of ['@types/node', 'undici-types']) fs.symlinkSync(`${modules}/${each}`, `${root}/node_modules/${each}`);
  return root;
}

test('a program in TypeScript compiles, and its mistakes do not', (t) => {
  const root = project(t);
  fs.copyFileSync(path.join(__dirname, 'node_types/use.mts'), `${root}/use.mts`);
  const compiler = `${modules}/typescript/bin/tsc`;
  execFileSync(process.execPath, [compiler, '--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022',
    '--preserveSymlinks', '--types', 'node', 'use.mts'], {cwd: root, stdio: 'inherit'});
});

test('the types name what is there, and nothing else', () => {
  const types = fs.readFileSync(`${PACKAGE}/index.d.ts`, 'utf8');
  const named = [...types.matchAll(/^export (?:class|function|const) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(named.sort(), Object.keys(muster).sort());
  for (const [, name, body] of types.matchAll(/^export class (\w+)[^{]*\{\n(.*?)^\}$/gms)) {
    const told = [...body.matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm)].map(([, member]) => member);
    const own = Object.getOwnPropertyNames(muster[name].prototype);
    for (const member of own) assert(member === 'constructor' || told.includes(member), `${name}.${member} has no type`);
  }
});

test('it can be imported by name', (t) => {
  const root = project(t);
  fs.writeFileSync(`${root}/main.mjs`, `
    import whole, {lead, MusterError, version} from 'muster';
    if (whole.lead !== lead || !MusterError) throw new Error('another one');
    console.log(typeof version);`);
  assert.equal(execFileSync(process.execPath, ['--preserve-symlinks', `${root}/main.mjs`], {encoding: 'utf8'}), 'function\n');
});
