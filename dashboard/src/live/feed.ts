import { refusal } from '../api.ts';
import { EventParser } from './sse.ts';

/** How the page stands to its server. `since` and `retryAt` are instants of this browser. */
export type Link =
  | { kind: 'connecting'; since: number }
  | { kind: 'live'; since: number }
  | { kind: 'lost'; since: number; retryAt: number; reason: string };

/** The server speaks at least every 5 s; longer silence than this means that it is gone. */
const silenceMaxMs = 12_000;
const waitMinMs = 500;
const waitMaxMs = 5_000;

/** The wait before attempt `attempt` (1 is the first after a loss), with jitter in 0..1. */
export function backoff(attempt: number, jitter: number): number {
  const full = Math.min(waitMaxMs, waitMinMs * 2 ** (attempt - 1));
  return full * (0.5 + 0.5 * jitter);
}

/**
 * The stream of events of one server. Reconnects for ever and resumes after the last decision it
 * saw. Promises no gap-free stream of changes: a view of nodes fetches again when `onLink` says
 * "live" after a loss, and on the event `reset`.
 */
export class Feed {
  private lastId: string | null = null;
  private live = false;
  private attempt = 0;
  private lostSince: number | null = null;
  private wake: (() => void) | null = null;

  constructor(
    private readonly onEvent: (event: string, data: unknown) => void,
    private readonly onLink: (link: Link) => void) {}

  async run(): Promise<never> {
    this.onLink({ kind: 'connecting', since: Date.now() });
    for (;;) {
      const reason = await this.listen();
      this.live = false;
      this.attempt += 1;
      this.lostSince ??= Date.now();
      const wait = backoff(this.attempt, Math.random());
      this.onLink({ kind: 'lost', since: this.lostSince, retryAt: Date.now() + wait, reason });
      await this.pause(wait);
    }
  }

  /** Tries again at once instead of waiting. */
  retryNow(): void {
    this.wake?.();
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** One connection from beginning to end; says why it ended. */
  private async listen(): Promise<string> {
    const control = new AbortController();
    let silence = setTimeout(() => control.abort(), silenceMaxMs);
    try {
      const response = await fetch('api/events', {
        cache: 'no-store', signal: control.signal,
        headers: this.lastId === null ? {} : { 'Last-Event-ID': this.lastId },
      });
      if (!response.ok || !response.body) return await refusal(response);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new EventParser();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return 'The server ended the connection.';
        clearTimeout(silence);
        silence = setTimeout(() => control.abort(), silenceMaxMs);
        this.heard();
        for (const event of parser.push(value)) {
          if (event.id !== null) this.lastId = event.id;
          this.onEvent(event.event, JSON.parse(event.data));
        }
      }
    } catch (error) {
      if (control.signal.aborted) return 'The server has gone silent.';
      return error instanceof SyntaxError
        ? 'The server sent data that this page does not understand; reload the page.'
        : 'The server does not answer.';
    } finally {
      clearTimeout(silence);
      control.abort();
    }
  }

  private heard(): void {
    if (this.live) return;
    this.live = true;
    this.attempt = 0;
    this.lostSince = null;
    this.onLink({ kind: 'live', since: Date.now() });
  }
}
