// The JSON API of musterd as the page sees it. Names that end in Ms are durations in milliseconds,
// except instants (sinceMs, atMs, startMs, …), which are milliseconds since 1970.

export type NodeState = 'joining' | 'active' | 'suspect' | 'draining' | 'down';
export const nodeStates: readonly NodeState[] = ['active', 'joining', 'suspect', 'draining', 'down'];

/** What every answer says about itself. */
export interface Answer {
  server: string;
  version: number;
  staleMs: number;
}

export interface Leader {
  id: string;
  address: string;
  epoch: number;
  sinceMs: number;
  why: string;
}

export interface Server {
  id: string;
  address: string;
  /** unknown: it has not been heard since the leader began, which was a moment ago. */
  role: 'leader' | 'follower' | 'unreachable' | 'unknown';
  epoch: number;
  /** Null when it is not known. */
  appliedIndex: number | null;
  lagEntries: number | null;
  /** Without an applied index: how long it has not been heard at least. */
  lastSeenMs: number | null;
  version: string;
}

export interface Overview extends Answer {
  cluster: {
    leader: Leader | null;
    engine: string;
    engineHealth: string;
    logHead: number;
    logId: string;
  };
  servers: Server[];
  counts: Record<NodeState | 'total', number>;
  watchers: number;
  build: { version: string; commit: string };
  /** The reason of a healthy server is what it misses all the same; empty: nothing. */
  health: { healthy: boolean; reason: string };
}

export interface NodeRow {
  id: string;
  /** unknown: of a service that is no type. */
  type: string;
  service: string;
  tags: Record<string, string>;
  address: string;
  port: number;
  state: NodeState;
  generation: string;
  slot: number;
  lastHeartbeatAgeMs: number;
  flaps: number;
  registeredAtMs: number;
  stateSinceMs: number;
  /** Measured by the servers; stateSinceMs is a label by the clock of the one that led. */
  stateAgeMs: number;
  share: number;
}

export interface NodesAnswer extends Answer {
  total: number;
  /** All of them, whatever was asked for. */
  services: string[];
  nodes: NodeRow[];
}

export interface RingAnswer extends Answer {
  virtualNodes: number;
  /** Null: the ring that the nodes with a type share. */
  service: string | null;
  services: string[];
  nodes: { id: string; share: number; flagged: boolean }[];
  points: [number, number][];
  thinned?: boolean;
}

export interface Move {
  from: string;
  to: string;
  share: number;
}

export interface PlanAnswer extends Answer {
  movedShare: number;
  moves: Move[];
}

export interface Namespace {
  name: string;
  leader: string | null;
  epoch: number;
  leaseLeftMs: number;
  workers: number;
  sinceMs: number;
}

export interface NamespacesAnswer extends Answer {
  namespaces: Namespace[];
}

export const decisionKinds =
  ['leader', 'transition', 'displaced', 'breaker', 'brake', 'ring', 'engine', 'server', 'drain'] as const;

export interface Decision {
  seq: number;
  atMs: number;
  kind: string;
  subject: string;
  from: string;
  to: string;
  cause: string;
  text: string;
  epoch: number;
}

export interface DecisionsAnswer extends Answer {
  decisions: Decision[];
  oldest: number;
  newest: number;
}

export interface ExplainAnswer extends Answer {
  /** Null when the node is no longer registered. */
  node: NodeRow | null;
  timeline: Pick<Decision, 'atMs' | 'kind' | 'from' | 'to' | 'cause' | 'text'>[];
}

export const seriesNames = ['heartbeatP50Ms', 'heartbeatP95Ms', 'heartbeatP99Ms', 'batchSize',
  'commitsPerSecond', 'watchers'] as const;
export type SeriesName = (typeof seriesNames)[number];

export interface SeriesAnswer extends Answer {
  startMs: number;
  stepMs: number;
  series: Record<SeriesName, (number | null)[]>;
}

export type Sample = { atMs: number } & Record<SeriesName, number | null>;

export interface Change {
  version: number;
  upserts: NodeRow[];
  removed: string[];
}

/** What a person should read when a request failed. */
export class ApiError extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

type Query = Record<string, string | number | undefined>;

/** Reads one answer. Paths are relative, so that the page also works below a prefix. */
export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') words.set(name, String(value));
  }
  const text = words.toString();
  const response = await fetch(`api/${path}${text && `?${text}`}`,
    { cache: 'no-store', ...(signal && { signal }) });
  if (!response.ok) throw new ApiError(response.status, await refusal(response));
  return await response.json() as T;
}

export async function refusal(response: Response): Promise<string> {
  if (response.status === 401 || response.status === 403) {
    return 'The certificate of this browser may not read this cluster.';
  }
  const body: unknown = await response.json().catch(() => null);
  if (body && typeof body === 'object' && 'error' in body) return String(body.error);
  return `The server answered ${response.status}.`;
}
