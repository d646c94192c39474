// Pieces that several views show.
import type { Decision, NodeRow, NodeState } from './api.ts';
import { h, setAttribute, setText } from './dom.ts';
import { clock } from './format.ts';
import { formatRoute } from './route.ts';

/** A titled box. */
export function card(title: string, ...children: (Node | string)[]): HTMLElement {
  return h('section', { class: 'card', 'aria-label': title }, h('h2', {}, title), ...children);
}

/** The state of a node as a shape and a word: colour alone tells nobody enough. */
export function stateChip(state: NodeState): HTMLElement {
  return h('span', { class: 'chip', 'data-state': state }, state);
}

export function showState(chip: Element, state: NodeState): void {
  setAttribute(chip, 'data-state', state);
  setText(chip, state);
}

/** A service and tags as text: queue zone=b. */
export const serviceText = ({ service, tags }: Pick<NodeRow, 'service' | 'tags'>): string =>
  [service, ...Object.entries(tags).map(([key, value]) => `${key}=${value}`)].join(' ');

/** Offers the services, the chosen one included, below `all`; an open list is left alone. */
export function offerServices(select: HTMLSelectElement, all: string, services: readonly string[],
  chosen: string): void {
  const values = ['', ...new Set([...services, ...(chosen ? [chosen] : [])].sort())];
  if (values.join() !== [...select.options].map(({ value }) => value).join()) {
    select.replaceChildren(...values.map((value) => h('option', { value }, value || all)));
  }
  if (select.value !== chosen) select.value = chosen;
}

/** Which node, if any, a decision is about. */
export const nodeOf = (decision: Pick<Decision, 'kind' | 'subject'>): string | null =>
  decision.kind === 'transition' ? decision.subject : null;

export function decisionItem(
  decision: Pick<Decision, 'atMs' | 'kind' | 'text'> & { to?: string }): HTMLElement {
  return h('li', { class: 'event' },
    h('time', { datetime: new Date(decision.atMs).toISOString() }, clock(decision.atMs, Date.now())),
    h('span', { class: 'kind', 'data-kind': decision.kind, 'data-to': decision.to }, decision.kind),
    h('span', { class: 'event-text' }, decision.text));
}

export const nodesLink = (state: NodeState): string => formatRoute('nodes', { state });

/** Fills a bar to a fraction. Through the object model: the policy forbids style attributes. */
export function fill(bar: HTMLElement, fraction: number): void {
  bar.style.setProperty('--fill', `${Math.max(0, Math.min(1, fraction)) * 100}%`);
}
