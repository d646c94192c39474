'use strict';
// What the tests of the Node package share: stores, servers, and processes that use the package.
const assert = require('node:assert/strict');
const {execFileSync, spawn} = require('node:child_process');
const {once} = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');
const {setTimeout: pause} = require('node:timers/promises');

const PACKAGE = path.join(__dirname, '../../bindings/node');
const PATIENCE = 30000;
const {Servers} = require(path.join(PACKAGE, 'lib/servers.js'));

async function eventually(condition) {
  const limit = performance.now() + PATIENCE;
  for (let found; ; await pause(10)) {
    if ((found = await condition())) return found;
    assert(performance.now() < limit, 'it did not happen');
  }
}

function folder(test) {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'muster-node-'));
  test.after(() => fs.rmSync(made, {recursive: true, force: true, maxRetries: 5}));
  return made;
}

/** A process whose lines can be waited for; it ends with the test. */
class Child {
  constructor(test, command, parameters, options = {}) {
    this.process = spawn(command, parameters, {stdio: ['ignore', 'pipe', 'inherit'], ...options});
    this.lines = readline.createInterface({input: this.process.stdout})[Symbol.asyncIterator]();
    this.ended = once(this.process, 'exit');
    test.after(() => this.kill());
  }

  async line() {
    const late = new AbortController();
    const {done, value} = await Promise.race([
      this.lines.next(),
      pause(PATIENCE, null, {signal: late.signal}).then(() => assert.fail('no line came')),
    ]);
    late.abort();
    return done ? null : value;
  }

  async exit() {
    const [code, signal] = await this.ended;
    return code ?? signal;
  }

  async kill(signal = 'SIGKILL') {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill(signal);
    await this.ended;
  }
}

/** A program that uses the package as `muster`. */
const program = (test, text, ...parameters) => new Child(test, process.execPath, ['-e',
  `const muster = require('muster'); const [a, b, c] = process.argv.slice(1);\n${text}`, ...parameters]);

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const {port} = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

async function musterd(test, ...more) {
  const address = `127.0.0.1:${await freePort()}`;
  const server = new Child(test, process.env.MUSTERD, ['--dev', '--listen', address, '--http-listen', '127.0.0.1:0',
    '--data-dir', path.join(folder(test), 'data'), ...more], {stdio: ['ignore', 'pipe', 'ignore']});
  return {address, server};
}

/** Three servers of one cluster; `leader()` is the one that leads. */
async function threeServers(test) {
  const store = `file://${folder(test)}/store`;
  const servers = await Promise.all(['s1', 's2', 's3'].map(async (id) => {
    const address = `127.0.0.1:${await freePort()}`;
    const start = () => new Child(test, process.env.MUSTERD, ['--engine', store, '--id', id, '--listen', address,
      '--http-listen', 'off', '--insecure', '--limits', 'off', '--data-dir', folder(test)], {stdio: ['ignore', 'pipe', 'ignore']});
    return {id, address, server: start(), start};
  }));
  const list = servers.map(({address}) => address).join(',');
  const leader = async () => {
    const clients = new Servers(list);
    try {
      const {leader_id: id} = await eventually(() => clients.call('CoordinatorService', 'HealthCheck', {})
          .then((answer) => answer.healthy && answer, () => undefined));
      return servers.find((each) => each.id === id);
    } finally {
      clients.close();
    }
  };
  await leader();
  return {servers, list, leader};
}

/** A server that requires client certificates, and the files of a client. */
async function secureMusterd(test) {
  const pki = path.join(folder(test), 'pki');
  const certs = (...words) => execFileSync(path.join(path.dirname(process.env.MUSTERD), 'muster'),
      ['certs', words[0], '--dir', pki, ...words.slice(1)], {stdio: 'pipe'});
  certs('init');
  certs('issue', '--role', 'server', '--id', 's1', '--san', '127.0.0.1');
  certs('issue', '--role', 'admin', '--id', 'op');
  const files = (name) => ({certFile: `${pki}/${name}.crt`, keyFile: `${pki}/${name}.key`, caFile: `${pki}/ca.crt`});
  const {certFile, keyFile, caFile} = files('s1');
  const address = `127.0.0.1:${await freePort()}`;
  const data = folder(test);
  const server = new Child(test, process.env.MUSTERD, ['--engine', `file://${data}/store`, '--id', 's1', '--listen',
    address, '--http-listen', 'off', '--data-dir', `${data}/data`, '--cert', certFile, '--key', keyFile, '--cacert', caFile],
    {stdio: ['ignore', 'pipe', 'ignore']});
  return {address, server, files: files('op')};
}

const rejection = (promise, code, words = /./) => assert.rejects(promise, (error) => {
  assert.equal(error.code, code, error);
  assert.match(error.message, words);
  return true;
});

module.exports = {Child, PACKAGE, PATIENCE, eventually, folder, freePort, musterd, pause, program, rejection, secureMusterd, threeServers};
