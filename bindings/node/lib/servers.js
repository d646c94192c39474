'use strict';
// The servers of a cluster of musterd, and calls to one of them.
const fs = require('node:fs');
const path = require('node:path');
const {MusterError, fromStatus} = require('./errors');
const {now} = require('./clock');
const {pause} = require('./wait');

const ATTEMPT_MS = 3000;
const PAUSE_MS = 50;
const PAUSE_MAX_MS = 1000;

let contract;

/** The contract of musterd: in the package, or beside it in the source tree. */
function services() {
  if (contract) return contract;
  const grpc = require('@grpc/grpc-js');
  const loader = require('@grpc/proto-loader');
  const own = path.join(__dirname, '..', 'proto');
  const folder = fs.existsSync(own) ? own : path.join(__dirname, '..', '..', '..', 'proto');
  const files = ['coordinator', 'election', 'lock'].map((name) => `muster/v1/${name}.proto`)
      .filter((name) => fs.existsSync(path.join(folder, name)));
  const options = {includeDirs: [folder], keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true};
  contract = {grpc, ...grpc.loadPackageDefinition(loader.loadSync(files, options)).muster.v1};
  return contract;
}

class Servers {
  #addresses;
  #current = 0;
  #credentials;
  #channels = new Map();
  #closed = false;

  /** `addresses`: "host:9000", or several with commas between. They need not answer yet. */
  constructor(addresses, {caFile, certFile, keyFile} = {}) {
    this.#addresses = String(addresses).split(',').map((each) => each.trim()).filter(Boolean);
    for (const each of this.#addresses) {
      const port = /^(?:[^\s:/]+|\[[\da-fA-F:.]+\]):(\d{1,5})$/.exec(each)?.[1];
      if (!port || Number(port) > 65535) throw new MusterError('INVALID', `"${each}" is no address like "host:9000"`);
    }
    if (this.#addresses.length === 0) throw new MusterError('INVALID', 'no server is named');
    const {grpc} = services();
    if (!caFile !== !certFile || !certFile !== !keyFile) {
      throw new MusterError('INVALID', 'TLS needs caFile, certFile and keyFile');
    }
    const read = (file) => {
      try {
        return fs.readFileSync(file);
      } catch (error) {
        throw new MusterError('INVALID', error.message);
      }
    };
    this.#credentials = caFile ? grpc.credentials.createSsl(read(caFile), read(keyFile), read(certFile))
        : grpc.credentials.createInsecure();
  }

  /** The server to ask. Another one after failed(). */
  get address() {
    return this.#addresses[this.#current];
  }

  failed(address) {
    if (address === this.address) this.#current = (this.#current + 1) % this.#addresses.length;
  }

  client(service, address) {
    if (this.#closed) throw new MusterError('INVALID', 'the cluster is closed');
    const Service = services()[service];
    if (!Service) throw new MusterError('UNSUPPORTED', `the contract has no ${service}`);
    const channel = this.#channels.get(address);
    if (channel) return new Service(address, this.#credentials, {channelOverride: channel});
    const client = new Service(address, this.#credentials,
        {'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 2000});
    this.#channels.set(address, client.getChannel());
    return client;
  }

  #once(address, service, method, request, deadline, signal) {
    return new Promise((resolve, reject) => {
      const options = {deadline: Date.now() + deadline};
      const call = this.client(service, address)[method](request, options, (error, answer) => {
        signal?.removeEventListener('abort', cancel);
        if (error) reject(error);
        else resolve(answer);
      });
      const cancel = () => call.cancel();
      signal?.addEventListener('abort', cancel);
    });
  }

  /**
   * The answer to a unary call, of whichever server gives one within the time. `repeatable`: doing it twice is
   * harmless; other calls that may have been done fail with AMBIGUOUS. The error names the server that was asked last.
   * `attempt`: the time that one server has. `sending(at)` is called before each request is sent.
   */
  async call(service, method, request, options = {}) {
    const {repeatable = true, within = 10000, attempt = ATTEMPT_MS, signal, sending} = options;
    const limit = now() + within;
    let redirected;
    for (let wait = PAUSE_MS; ; wait = Math.min(2 * wait, PAUSE_MAX_MS)) {
      signal?.throwIfAborted();
      const address = redirected ?? this.address;
      try {
        sending?.(now());
        return await this.#once(address, service, method, request, Math.min(attempt, limit - now()), signal);
      } catch (failed) {
        signal?.throwIfAborted();
        if (failed.code === undefined || failed instanceof MusterError) throw failed;
        const error = fromStatus(failed, address, !repeatable);
        const again = error.code === 'UNAVAILABLE' || (error.code === 'AMBIGUOUS' && repeatable);
        if (!again || now() + wait >= limit) throw error;
        const elsewhere = error.leaderAddress;
        if (elsewhere && !redirected) {
          redirected = elsewhere;
          continue;
        }
        redirected = undefined;
        this.failed(address);
      }
      await pause(wait, signal);
    }
  }

  close() {
    this.#closed = true;
    for (const each of this.#channels.values()) each.close();
  }
}

module.exports = {Servers, services};
