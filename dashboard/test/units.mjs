// Bundles and runs the tests of the page that need no browser: node units.mjs NODE_MODULES OUTPUT
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [modules, output] = process.argv.slice(2).map((path) => resolve(path));
const here = dirname(fileURLToPath(import.meta.url));
const { buildSync } = createRequire(join(modules, 'x.js'))('esbuild');
const tests = readdirSync(here).filter((name) => name.endsWith('.test.ts'));

rmSync(output, { recursive: true, force: true });
buildSync({
  entryPoints: tests.map((name) => join(here, name)),
  outdir: output,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  format: 'esm',
  platform: 'node',
  // What the server says about itself is compared as it is written there.
  loader: { '.cc': 'text' },
  sourcemap: 'inline',
  tsconfigRaw: {},
  logLevel: 'warning',
});
const built = tests.map((name) => join(output, name.replace(/\.ts$/, '.mjs')));
process.exit(spawnSync(process.execPath, ['--test', ...built], { stdio: 'inherit' }).status ?? 1);
