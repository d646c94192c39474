'use strict';
const {MusterError} = require('./errors');

const asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');

/** Permission to work for as long as it is valid: a term of leadership, or a lock that is held. */
class Term {
  #held;
  #name;
  #closed;
  #controller;
  #unwatch;
  #outer;

  /** `outer`: a signal that asks the work to stop, too. */
  constructor(name, held, outer) {
    this.#name = name;
    this.#held = held;
    this.#outer = outer;
  }

  get token() {
    return this.#held.token;
  }

  get valid() {
    return this.#closed === undefined && this.#held.valid();
  }

  get left() {
    return this.valid ? this.#held.left() : 0;
  }

  get signal() {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#closed) this.#stop();
      else if (this.#outer?.aborted) this.#stopOuter();
      else {
        this.#unwatch = this.#held.watch(() => this.#stop());
        this.#outer?.addEventListener('abort', this.#stopOuter);
      }
    }
    return this.#controller.signal;
  }

  #stop() {
    this.#controller?.abort(new MusterError('CANCELLED', `work under ${this.#name} should stop`));
  }

  #stopOuter = () => this.#controller.abort(this.#outer.reason);

  close() {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end() {
    this.#unwatch?.();
    this.#outer?.removeEventListener('abort', this.#stopOuter);
    this.#stop();
    await this.#held.close();
  }

  [asyncDispose]() {
    return this.close();
  }
}

module.exports = {Term, asyncDispose};
