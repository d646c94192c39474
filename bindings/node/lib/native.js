'use strict';
// The shared library: the functions of muster/c.h, as koffi calls them.
const fs = require('node:fs');
const path = require('node:path');
const {isMainThread} = require('node:worker_threads');
const {CODES, MusterError} = require('./errors');

/** The oldest library that has every function used here, as muster_abi() counts. */
const ABI = 2;

/** Node has four threads for files, DNS and calls of this kind together: the library takes two at most. */
const THREADS = 2;

let loaded;

function candidate() {
  if (process.env.MUSTER_LIBRARY) return process.env.MUSTER_LIBRARY;
  const beside = path.join(__dirname, '..', 'native', 'libmuster.so.0');
  return fs.existsSync(beside) ? beside : 'libmuster.so.0';
}

function load() {
  if (!isMainThread) {
    throw new MusterError('INVALID', 'the library is for the main thread: it would go on leading for a worker that ' +
        'was terminated; use an address with grpc:// in a worker');
  }
  const koffi = require('koffi');
  const file = candidate();
  let library;
  try {
    library = koffi.load(file, {deep: true}); // With its own OpenSSL: Node exports another one.
  } catch (error) {
    throw new MusterError('UNSUPPORTED', `${file} cannot be loaded (${error.message}); install the package ` +
        'libmuster0, or name the library in MUSTER_LIBRARY');
  }
  const sized = (members) => {
    const type = koffi.struct({size: 'size_t', ...members});
    const size = koffi.sizeof(type);
    return {type: koffi.pointer(type), make: (values) => ({size, ...values})};
  };
  const types = {
    tls: sized({ca_file: 'str', cert_file: 'str', key_file: 'str'}),
    leaderOptions: sized({id: 'str', value: 'str', lease: 'int64_t', only_watches: 'bool', exits_on_overrun: 'bool'}),
    lockOptions: sized({ttl: 'int64_t', permits: 'uint32_t', sharing: 'int', once: 'bool'}),
    leader: sized({
      token: 'uint64_t', id: koffi.array('char', 129, 'String'), value: koffi.array('char', 1025, 'String'),
    }),
  };
  const error = koffi.out(koffi.pointer('void *'));
  const functions = {};
  const declare = (name, result, ...parameters) => {
    try {
      functions[name] = {call: library.func(`muster_${name}`, result, parameters), fails: parameters.at(-1) === error};
    } catch {
      throw new MusterError('UNSUPPORTED', `${file} is too old: it has no muster_${name}`);
    }
  };
  declare('version', 'str');
  declare('abi', 'int');
  declare('error_code', 'int', 'void *');
  declare('error_message', 'str', 'void *');
  declare('error_free', 'void', 'void *');
  declare('arbiter_open', 'void *', 'str', types.tls.type, error);
  declare('arbiter_probe', 'bool', 'void *', error);
  declare('arbiter_free', 'void', 'void *');
  declare('leadership_stand', 'void *', 'void *', 'str', types.leaderOptions.type, error);
  declare('leadership_wait', 'void *', 'void *', 'int64_t', error);
  declare('leadership_leader', 'bool', 'void *', koffi.inout(types.leader.type));
  declare('leadership_trouble', 'void *', 'void *');
  declare('leadership_step_down', 'bool', 'void *', 'str', error);
  declare('leadership_stop', 'bool', 'void *', error);
  declare('leadership_free', 'void', 'void *');
  declare('term_valid', 'bool', 'void *');
  declare('term_token', 'uint64_t', 'void *');
  declare('term_left', 'int64_t', 'void *');
  declare('term_wait_stop', 'bool', 'void *', 'int64_t');
  declare('term_free', 'void', 'void *');
  declare('lock_acquire', 'void *', 'void *', 'str', types.lockOptions.type, error);
  declare('lock_wait', 'bool', 'void *', 'int64_t', error);
  if (functions.abi.call() < ABI) throw new MusterError('UNSUPPORTED', `${file} is too old for this package`);
  return {functions, types};
}

function native() {
  loaded ??= load();
  return loaded;
}

/** Makes an error of a muster_error, and frees that. */
function takeError(pointer) {
  const {functions} = native();
  const code = CODES[functions.error_code.call(pointer)] ?? 'UNAVAILABLE';
  const message = functions.error_message.call(pointer);
  functions.error_free.call(pointer);
  return new MusterError(code, message);
}

/** Calls a function that returns at once. If it reports an error, that is thrown. */
function call(name, ...parameters) {
  const {call: act, fails} = native().functions[name];
  if (!fails) return act(...parameters);
  const error = [null];
  const result = act(...parameters, error);
  if (error[0]) throw takeError(error[0]);
  return result;
}

/** Calls a function on another thread, as it may take a while. */
function callInThread(name, ...parameters) {
  return new Promise((resolve, reject) => {
    const {call: act, fails} = native().functions[name];
    const error = fails ? [null] : [];
    act.async(...parameters, ...(fails ? [error] : []), (failed, result) => {
      if (failed) reject(failed);
      else if (error[0]) reject(takeError(error[0]));
      else resolve(result);
    });
  });
}

let threads = THREADS;
const waiting = [];

async function callInTurn(name, ...parameters) {
  if (threads > 0) threads -= 1;
  else await new Promise((resolve) => waiting.push(resolve));
  try {
    return await callInThread(name, ...parameters);
  } finally {
    const next = waiting.shift();
    if (next) next();
    else threads += 1;
  }
}

const forgotten = new FinalizationRegistry(({free, pointer}) => void callInTurn(free, pointer));

/** An object of the library. It is freed by close(), once no call with it is under way. */
class Handle {
  #what;
  #free;
  #pointer;
  #users = 0;
  #closed;
  #unused;

  constructor(what, pointer, free) {
    this.#what = what;
    this.#pointer = pointer;
    this.#free = free;
    forgotten.register(this, {free, pointer}, this);
  }

  get closed() {
    return this.#closed !== undefined;
  }

  #open() {
    if (this.#closed) throw new MusterError('INVALID', `the ${this.#what} is closed`);
    return this.#pointer;
  }

  /** Calls a function that returns at once, with this object as its first argument. */
  call(name, ...parameters) {
    return call(name, this.#open(), ...parameters);
  }

  /** Calls one that may take a while. */
  async run(name, ...parameters) {
    const pointer = this.#open();
    this.#users += 1;
    try {
      return await callInTurn(name, pointer, ...parameters);
    } finally {
      this.#users -= 1;
      if (this.#users === 0) this.#unused?.();
    }
  }

  /** Resolves when it is freed. Again: the same. */
  close() {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end() {
    forgotten.unregister(this);
    if (this.#users > 0) await new Promise((resolve) => (this.#unused = resolve));
    // A leadership that is being stopped waits for its term: that must not wait for the leadership's turn.
    await (this.#free === 'term_free' ? callInThread : callInTurn)(this.#free, this.#pointer);
  }
}

module.exports = {Handle, call, callInTurn, native, takeError};
