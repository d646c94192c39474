// Lets the TypeScript compiler judge the page: node types.mjs NODE_MODULES
// Takes up to 15 s beside other tests: the compiler reads its own libraries and every file of the page.
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = resolve(process.argv[2] ?? 'node_modules');
const folder = join(dirname(fileURLToPath(import.meta.url)), '..');
const ts = createRequire(join(modules, 'x.js'))('typescript');

const config = ts.getParsedCommandLineOfConfigFile(join(folder, 'tsconfig.json'), {}, {
  ...ts.sys,
  onUnRecoverableConfigFileDiagnostic: (problem) => { throw new Error(problem.messageText); },
});
const program = ts.createProgram(config.fileNames, config.options);
const problems = [...config.errors, ...ts.getPreEmitDiagnostics(program)];
process.stdout.write(ts.formatDiagnostics(problems, {
  getCanonicalFileName: (name) => name, getCurrentDirectory: () => folder, getNewLine: () => '\n',
}));
console.log(`${config.fileNames.length} files, ${problems.length} problems`);
process.exit(problems.length === 0 && config.fileNames.length > 10 ? 0 : 1);
