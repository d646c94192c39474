// Bundles and runs the tests of the page that need no browser: node units.mjs ESBUILD OUTPUT
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [esbuild, output] = process.argv.slice(2);
if (!output) {
  console.error('usage: node units.mjs ESBUILD OUTPUT');
  process.exit(64);
}
const here = dirname(fileURLToPath(import.meta.url));
const tests = readdirSync(here).filter((name) => name.endsWith('.test.ts'));

function run(program, ...words) {
  const { status, error } = spawnSync(program, words, { stdio: 'inherit' });
  if (error) console.error(`units.mjs: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

rmSync(output, { recursive: true, force: true });
run(esbuild, ...tests.map((name) => join(here, name)), `--outdir=${output}`, '--out-extension:.js=.mjs',
  '--bundle', '--format=esm', '--platform=node', '--sourcemap=inline', '--log-level=warning',
  // What the server says about itself is compared as it is written there.
  '--loader:.cc=text', `--tsconfig=${join(here, '..', 'tsconfig.json')}`);
run(process.execPath, '--test',
  ...tests.map((name) => join(resolve(output), name.replace(/\.ts$/, '.mjs'))));
