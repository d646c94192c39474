import { get, type Change, type Decision, type DecisionsAnswer, type Overview, type Sample }
  from './api.ts';
import { Feed, type Link } from './live/feed.ts';
import { Timeline } from './live/timeline.ts';
import { Happening, Watched } from './live/watched.ts';

/** Decisions kept in this browser; the server keeps more, and is asked for searches. */
const timelineBound = 2000;
/** Enough for the first view; the timeline asks for more. */
const firstDecisions = 30;

/** What all views share: the stream of one server, and what it told last. */
export class App {
  readonly overview = new Watched<Overview | null>(null);
  readonly link = new Watched<Link>({ kind: 'connecting', since: Date.now() });
  readonly timeline = new Timeline(timelineBound);
  readonly timelineChanged = new Happening<void>();
  readonly decided = new Happening<Decision>();
  readonly changed = new Happening<Change>();
  readonly sampled = new Happening<Sample>();
  /** Events may have been missed: whatever is shown is to be fetched again. */
  readonly missed = new Happening<void>();
  private readonly feed = new Feed((event, data) => this.take(event, data), (link) => this.turn(link));
  private wasLost = false;

  start(): void {
    void this.feed.run();
  }

  retryNow(): void {
    this.feed.retryNow();
  }

  /** A failure is no news here: the banner already says that the server does not answer. */
  async loadDecisions(query: { limit: number; q?: string }): Promise<void> {
    const answer = await get<DecisionsAnswer>('decisions', query).catch(() => null);
    if (!answer) return;
    this.timeline.learn(answer.decisions);
    this.timelineChanged.tell();
  }

  private turn(link: Link): void {
    this.link.set(link);
    if (link.kind === 'lost') this.wasLost = true;
    if (link.kind === 'live' && this.wasLost) {
      this.wasLost = false;
      this.missed.tell();
    }
  }

  private take(event: string, data: unknown): void {
    switch (event) {
      case 'hello':
        // Only now: what is decided from here on comes by the stream, so that none falls between.
        return void this.loadDecisions({ limit: firstDecisions });
      case 'overview':
        return this.overview.set(data as Overview);
      case 'decision':
        this.timeline.happened(data as Decision);
        this.timelineChanged.tell();
        return this.decided.tell(data as Decision);
      case 'change':
        return this.changed.tell(data as Change);
      case 'sample':
        return this.sampled.tell(data as Sample);
      case 'reset':
        // The server no longer has what came after the last decision seen here.
        this.timeline.clear();
        void this.loadDecisions({ limit: firstDecisions });
        return this.missed.tell();
    }
  }
}

/** One part of the page. Everything it starts ends with `signal`. */
export interface View {
  name: string;
  title: string;
  mount(root: HTMLElement, app: App, params: URLSearchParams, signal: AbortSignal): void;
}
