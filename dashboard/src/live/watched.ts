/** A value that can be watched. One thread, calls back at once; a watcher ends with its signal. */
export class Watched<T> {
  private readonly watchers = new Set<(value: T) => void>();
  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }
  set(value: T): void {
    this.current = value;
    for (const watcher of this.watchers) watcher(value);
  }
  /** Calls back now and on every change. */
  watch(signal: AbortSignal, watcher: (value: T) => void): void {
    this.watchers.add(watcher);
    signal.addEventListener('abort', () => this.watchers.delete(watcher));
    watcher(this.current);
  }
}

/** Something that happens, without a value that stays. */
export class Happening<T> {
  private readonly listeners = new Set<(value: T) => void>();

  tell(value: T): void {
    for (const listener of this.listeners) listener(value);
  }
  listen(signal: AbortSignal, listener: (value: T) => void): void {
    this.listeners.add(listener);
    signal.addEventListener('abort', () => this.listeners.delete(listener));
  }
}
