/// <reference types="node" />
/// <reference lib="esnext.disposable" />

/** Why something failed. */
export type Code =
  | 'NOT_FOUND' | 'UNCHANGED' | 'CONFLICT' | 'AMBIGUOUS' | 'THROTTLED' | 'UNAVAILABLE' | 'DENIED' | 'UNSUPPORTED'
  | 'INVALID' | 'CORRUPT' | 'CANCELLED' | 'TIMEOUT';

/** A failure: `code` says which kind, the message what to do about it. */
export class MusterError extends Error {
  constructor(code: Code, message: string);
  readonly code: Code;
}

/** PEM files. With none of them, nothing is encrypted. */
export interface TlsFiles {
  caFile?: string;
  certFile?: string;
  keyFile?: string;
}

/** How long to wait. Times are in milliseconds. */
export interface WaitOptions {
  /** MusterError with the code TIMEOUT after this time. */
  timeout?: number;
  /** Ends the wait, which rejects with the signal's reason. */
  signal?: AbortSignal;
}

export interface LeaderOptions {
  /** Unique within the election. Default: host name and process id. */
  id?: string;
  /** What everybody who asks for the leader sees while this process leads, at most 1,024 bytes. */
  value?: string;
  /** A leader that was silent for this time may be replaced, in milliseconds. Default: 6000. */
  lease?: number;
  /** False: sees who leads, and never leads. */
  campaigns?: boolean;
  /** Ends the process with exit code 71 when its work still holds a term whose lease has ended. */
  exitsOnOverrun?: boolean;
}

export interface LockOptions extends WaitOptions {
  /** A holder that was silent for this time loses the lock, in milliseconds. Default: 6000. */
  ttl?: number;
  /** How many may hold it at once: 1 is a mutex (the default), more is a semaphore. The same in every process. */
  permits?: number;
  /** A read/write lock: true for reading beside others, false for writing alone. */
  shared?: boolean;
  /** MusterError with the code TIMEOUT after this time; 0 tries once. */
  timeout?: number;
}

export interface Leader {
  readonly id: string;
  /** What it published, an address for example. */
  readonly value: string;
  readonly token: number;
}

/**
 * Permission to work for as long as it is valid: a term of leadership, or a lock that is held.
 *
 * Closing it says that the work is done, so that the next process starts at once. Otherwise that waits for the end
 * of the lease.
 *
 * Not guaranteed: that work has stopped when the lease ends. A process that was paused between asking `valid` and
 * acting acts late. What must never happen twice carries `token` to the resource, and the resource refuses lower ones.
 */
export class Term implements AsyncDisposable {
  private constructor();
  /** Higher than that of every earlier term of this election, or earlier holder of this mutex. */
  readonly token: number;
  /** True while the lease holds, compared with the clock at this moment. Once false it stays false. */
  readonly valid: boolean;
  /** How many milliseconds the lease holds without another renewal; 0 once it has ended. */
  readonly left: number;
  /** Aborted when the work should stop. Once it was read, the process stays alive until it is aborted. */
  readonly signal: AbortSignal;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** This process's part in one election, until close(). It campaigns again after each term. */
export class Leadership implements AsyncDisposable {
  private constructor();
  readonly name: string;
  /** The leader as last seen, this process included; null while nobody is known to lead. */
  readonly leader: Leader | null;
  /** Waits until this process leads. CANCELLED once it is closed; UNSUPPORTED: the store cannot judge an election. */
  wait(options?: WaitOptions): Promise<Term>;
  /** Hands over, to the candidate `prefer` if it lives. CONFLICT: this process does not lead. */
  stepDown(prefer?: string): Promise<void>;
  /** What an operator should know and was not returned yet, the oldest first; at most 64 are kept. */
  troubles(): MusterError[];
  /**
   * Asks the work to stop, waits until its term is closed (at most a fifth of the lease and a tenth), releases the
   * lease and leaves. Ends waits.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What decides elections and locks. One connection serves everything that is made from it. */
export class Arbiter implements AsyncDisposable {
  private constructor();
  readonly url: string;
  /** Tries whether the store keeps the promises that elections rest on; UNSUPPORTED: it does not. */
  probe(): Promise<void>;
  /** Begins to take part in the election `name`. */
  stand(name: string, options?: LeaderOptions): Promise<Leadership>;
  /** Waits until the lock is held. */
  lock(name: string, options?: LockOptions): Promise<Term>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens the store that an address names. A server need not answer yet. */
export function open(url: string, files?: TlsFiles): Promise<Arbiter>;

/**
 * Waits until this process leads `name`, calls `work` and returns its answer. Then the lease is released and the
 * election is left. `signal` ends the wait, or asks the work to stop.
 */
export function lead<T>(
  arbiter: Arbiter | string, name: string, work: (term: Term) => T | Promise<T>, options?: LeaderOptions & WaitOptions,
): Promise<T>;

/** Waits until the lock `name` is held, calls `work`, returns its answer and releases the lock. */
export function lock<T>(
  arbiter: Arbiter | string, name: string, work: (lock: Term) => T | Promise<T>, options?: LockOptions,
): Promise<T>;

/** A node, as a program registers it. */
export interface NodeWanted {
  /** Unique in the cluster: 1 to 63 letters, digits and hyphens. */
  id: string;
  /** An IP address or a host name. */
  address: string;
  port: number;
  /** What it is, by a name: lower-case letters, digits and hyphens. Default: `object`. */
  service?: string;
  /** At most 32 names with values, which everybody sees. */
  tags?: Record<string, string>;
  /** Its share of the keys. Default: 1. */
  weight?: number;
}

/** A node, as the servers see it. */
export interface Node {
  readonly id: string;
  readonly address: string;
  readonly port: number;
  readonly service: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly weight: number;
  /** Of the process that registered it: another one each time. */
  readonly generation: string;
  /** ACTIVE and SUSPECT nodes hold keys. */
  readonly state: 'UNKNOWN' | 'ACTIVE' | 'JOINING' | 'DRAINING' | 'DOWN' | 'SUSPECT';
}

/** Keeps a node registered, by its heartbeats, until close(). */
export class Membership implements AsyncDisposable {
  private constructor();
  readonly node: NodeWanted;
  /** Aborted when another process has registered the node: the work of this one must stop. */
  readonly signal: AbortSignal;
  /** Deregisters the node. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface FollowOptions extends WaitOptions {
  /** Only nodes of this service, on a ring of their own. Default: `frontend`, `metadata` and `object`, on one ring. */
  service?: string;
}

/** Follows the nodes of a cluster, until close(). */
export class Directory implements AsyncDisposable {
  private constructor();
  /** Of the topology: rises with every change. */
  readonly version: number;
  /** All nodes, in the order of their ids. */
  nodes(): Node[];
  /** The nodes that hold a key, the primary first: as many as the cluster has copies, or at most `count`. */
  owners(key: string, count?: number): Node[];
  /** Resolves when the nodes are known, as they are after follow(); TIMEOUT after 10 s. */
  ready(options?: WaitOptions): Promise<void>;
  /** Whether the process of this generation has the node, and it is ACTIVE. */
  has(id: string, generation: string): boolean;
  /** Resolves after the next change. */
  changed(options?: WaitOptions): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A cluster of musterd, which keeps a registry of nodes. */
export class Cluster implements Disposable {
  /** `servers` is "host:9000", or several with commas between. They need not answer yet. */
  constructor(servers: string, files?: TlsFiles);
  /** Resolves when the node is registered and ACTIVE; TIMEOUT after 10 s. */
  register(node: NodeWanted, options?: WaitOptions): Promise<Membership>;
  /** Resolves when the nodes are known; TIMEOUT after 10 s. */
  follow(options?: FollowOptions): Promise<Directory>;
  close(): void;
  [Symbol.dispose](): void;
}

/** The version of the library. */
export function version(): string;
