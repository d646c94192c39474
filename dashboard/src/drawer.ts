import { ApiError, get, type ExplainAnswer, type NodeRow, type PlanAnswer } from './api.ts';
import type { App } from './app.ts';
import { append, gather, h } from './dom.ts';
import { clock, duration, percent, plural } from './format.ts';
import { decisionItem, stateChip } from './parts.ts';
import { formatRoute, showNode } from './route.ts';

/** Why is this node in this state? Its facts and its timeline, over whatever view is shown. */
export class Drawer {
  private id: string | null = null;
  private returnTo: Element | null = null;
  private readonly reload = gather(300, () => void this.load());

  constructor(private readonly root: HTMLElement, app: App) {
    const always = new AbortController().signal;
    addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && this.id !== null) showNode(null);
    });
    app.decided.listen(always, ({ subject }) => {
      if (subject === this.id) this.reload();
    });
    app.missed.listen(always, () => this.reload());
  }

  show(id: string | null): void {
    if (id === this.id) return;
    if (this.id === null) this.returnTo = document.activeElement;
    this.id = id;
    if (id === null) {
      this.root.replaceChildren();
      if (this.returnTo instanceof HTMLElement) this.returnTo.focus({ preventScroll: true });
      return;
    }
    const heading = h('h2', { tabindex: -1 }, id);
    const close = h('button', { type: 'button', class: 'quiet', onclick: () => showNode(null) }, 'Close');
    this.root.replaceChildren(h('aside', { class: 'drawer', 'aria-label': `Node ${id}` },
      h('div', { class: 'drawer-head' }, heading, close),
      h('div', { class: 'drawer-body', tabindex: 0, role: 'region', 'aria-label': 'Explanation' })));
    heading.focus({ preventScroll: true });
    void this.load();
  }

  private async load(): Promise<void> {
    const id = this.id;
    if (id === null) return;
    try {
      const answer = await get<ExplainAnswer>(`node/${encodeURIComponent(id)}/explain`);
      const plan = answer.node && answer.node.share > 0
        ? await get<PlanAnswer>('ring/plan', { remove: id }) : null;
      if (id === this.id) this.fill(answer, plan);
    } catch (error) {
      if (id !== this.id) return;
      this.body()?.replaceChildren(h('p', { class: 'empty' }, error instanceof ApiError
        ? error.message : 'The server does not answer.'));
    }
  }

  private body(): Element | null {
    return this.root.querySelector('.drawer-body');
  }

  private fill({ node, timeline }: ExplainAnswer, plan: PlanAnswer | null): void {
    const body = this.body();
    if (!body) return;
    body.replaceChildren(node ? facts(node) : h('p', {}, 'It is no longer registered.'));
    if (node && plan) {
      append(body, h('p', { class: 'note' },
        `If it left, ${percent(plan.movedShare)} of the keys would move, to ` +
        `${plural(new Set(plan.moves.map(({ to }) => to)).size, 'other node')}. `,
        h('a', { href: formatRoute('ring', {
          select: node.id, service: node.type === 'unknown' ? node.service : '' }) }, 'Show on the ring')));
    }
    append(body, h('h3', {}, 'Events'));
    append(body, timeline.length === 0 ? h('p', { class: 'empty' }, 'No events are recorded.')
      : h('ol', { class: 'events tall' }, ...timeline.toReversed().map(decisionItem)));
  }
}

function facts(node: NodeRow): HTMLElement {
  const now = Date.now();
  const list = h('dl', { class: 'facts' });
  const fact = (name: string, value: Node | string): void =>
    append(list, h('div', {}, h('dt', {}, name), h('dd', {}, value)));
  fact('State', stateChip(node.state));
  fact('In this state', `${duration(node.stateAgeMs)}, since ${clock(node.stateSinceMs, now)}`);
  fact('Last heartbeat', heartbeatAge(node.lastHeartbeatAgeMs));
  fact('Flaps', String(node.flaps));
  fact('Service', node.service);
  const tags = Object.entries(node.tags);
  if (tags.length > 0) fact('Tags', tags.map(([key, value]) => `${key}=${value}`).join(', '));
  fact('Address', hostPort(node));
  fact('Share of the ring', percent(node.share));
  fact('Registered', clock(node.registeredAtMs, now));
  fact('Generation', node.generation);
  return list;
}

export function heartbeatAge(ageMs: number | null): string {
  return ageMs === null || ageMs < 0 ? 'never' : `${duration(ageMs)} ago`;
}

export const hostPort = ({ address, port }: Pick<NodeRow, 'address' | 'port'>): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
