// Bundles the page: node build.mjs NODE_MODULES OUTPUT
// Writes OUTPUT/index.html and OUTPUT/assets/{app.js,app.css,icon.svg}, and fails when a browser that
// opens the page would have to load more than it should.
import { copyFile, readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const bytesMax = 150_000; // The answers of the first view need the rest of 200 KB.
const [modules, output] = process.argv.slice(2).map((path) => resolve(path));
if (!output) {
  console.error('usage: node build.mjs NODE_MODULES OUTPUT');
  process.exit(64);
}
const source = join(dirname(fileURLToPath(import.meta.url)), 'src');
const { build } = createRequire(join(modules, 'x.js'))('esbuild');

await build({
  entryPoints: ['main.ts', 'app.css'].map((file) => ({ in: join(source, file), out: 'app' })),
  outdir: join(output, 'assets'),
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2023', 'chrome123', 'firefox120', 'safari17.5'],
  // The licence of what is bundled asks to stay with it.
  banner: { js: `/*! This holds uPlot.\n${await readFile(join(modules, 'uplot', 'LICENSE'), 'utf8')}*/` },
  nodePaths: [modules],
  tsconfigRaw: {},
  logLevel: 'warning',
});
await copyFile(join(source, 'index.html'), join(output, 'index.html'));
await copyFile(join(source, 'icon.svg'), join(output, 'assets', 'icon.svg'));

let bytes = 0;
for (const file of ['index.html', 'assets/app.js', 'assets/app.css', 'assets/icon.svg']) {
  bytes += (await stat(join(output, file))).size;
}
console.log(`the page has ${bytes} bytes`);
if (bytes > bytesMax) {
  console.error(`build.mjs: the page has ${bytes} bytes, and ${bytesMax} is the most`);
  process.exit(1);
}
