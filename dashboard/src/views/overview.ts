import { get, nodeStates, type Overview, type SeriesAnswer, type Server } from '../api.ts';
import type { App, View } from '../app.ts';
import { heartbeatChart } from '../charts.ts';
import { append, h, reconcile, repeat, setAttribute, setText } from '../dom.ts';
import { clock, count, duration, lastSeen, plural } from '../format.ts';
import { SeriesWindow } from '../live/series.ts';
import { card, decisionItem, nodesLink } from '../parts.ts';
import { formatRoute } from '../route.ts';

const recentEvents = 8;
const minutes = 15;

export const overview: View = {
  name: 'overview',
  title: 'Overview',
  mount(root, app, _params, signal) {
    append(root, leaderCard(app, signal), nodesCard(app, signal), clusterCard(app, signal),
      serversCard(app, signal), heartbeatCard(app, signal), eventsCard(app, signal));
  },
};

function leaderCard(app: App, signal: AbortSignal): HTMLElement {
  const name = h('p', { class: 'hero' }, '–');
  const since = h('p', { class: 'lead' }, ' ');
  const why = h('p', { class: 'note' }, ' ');
  const reason = h('p', { class: 'note reason', role: 'status' });
  const element = card('Leader', name, since, why, reason);
  element.classList.add('card-leader');
  const show = (): void => {
    const now = Date.now();
    const overview = app.overview.value;
    const leader = overview?.cluster.leader;
    setAttribute(element, 'data-leaderless', overview !== null && !leader);
    if (!overview) return;
    setText(name, leader?.id ?? 'Nobody leads');
    setText(since, leader ? `since ${clock(leader.sinceMs, now)}, for ` +
      `${duration(now - leader.sinceMs)} · epoch ${count(leader.epoch)} · ${leader.address}`
      : 'Writes wait until a server is elected; reads are answered.');
    setText(why, leader?.why ?? '');
    setText(reason, overview.health.reason);
    setAttribute(reason, 'hidden', overview.health.reason === '');
  };
  app.overview.watch(signal, show);
  repeat(1000, signal, show);
  return element;
}

function nodesCard(app: App, signal: AbortSignal): HTMLElement {
  const total = h('p', { class: 'hero' }, '–');
  const bar = h('div', { class: 'statebar', 'aria-hidden': 'true' });
  const list = h('ul', { class: 'states' });
  const parts = nodeStates.map((state) => {
    const share = h('span', { 'data-state': state });
    const number = h('strong', {}, '–');
    bar.append(share);
    list.append(h('li', {}, h('a', { href: nodesLink(state) },
      h('span', { class: 'chip', 'data-state': state }, state), number)));
    return { state, share, number };
  });
  app.overview.watch(signal, (overview) => {
    if (!overview) return;
    setText(total, plural(overview.counts.total, 'node'));
    for (const { state, share, number } of parts) {
      setText(number, count(overview.counts[state]));
      share.style.flexGrow = String(overview.counts[state]);
    }
  });
  return card('Nodes', total, bar, list);
}

function clusterCard(app: App, signal: AbortSignal): HTMLElement {
  const list = h('dl', { class: 'facts' });
  const facts: [string, (overview: Overview) => string][] = [
    ['Engine', ({ cluster }) => cluster.engine],
    ['Engine health', ({ cluster }) => cluster.engineHealth],
    ['Log head', ({ cluster }) => count(cluster.logHead)],
    ['Topology version', ({ version }) => count(version)],
    ['Watchers', ({ watchers }) => count(watchers)],
    ['Muster', ({ build }) => `${build.version} ${build.commit}`.trim()],
  ];
  const values = facts.map(([name, text]) => {
    const value = h('dd', {}, '–');
    list.append(h('div', {}, h('dt', {}, name), value));
    return { value, text };
  });
  app.overview.watch(signal, (overview) => {
    if (overview) for (const { value, text } of values) setText(value, text(overview));
  });
  return card('Cluster', list);
}

function serversCard(app: App, signal: AbortSignal): HTMLElement {
  const columns: [string, (server: Server) => string][] = [
    ['Server', ({ id }) => id],
    ['Role', ({ role }) => role],
    ['Epoch', ({ epoch }) => count(epoch)],
    ['Applied', ({ appliedIndex }) => appliedIndex === null ? '–' : count(appliedIndex)],
    ['Lag', ({ lagEntries }) => lagEntries === null ? '–'
      : lagEntries === 0 ? 'none' : plural(lagEntries, 'entry', 'entries')],
    ['Last seen', ({ lastSeenMs, appliedIndex }) => lastSeen(lastSeenMs, appliedIndex !== null)],
    ['Address', ({ address }) => address],
    ['Version', ({ version }) => version],
  ];
  const body = h('tbody', {});
  const table = h('table', {},
    h('thead', {}, h('tr', {}, ...columns.map(([name]) => h('th', { scope: 'col' }, name)))), body);
  const create = (): HTMLElement => h('tr', {},
    ...columns.map(([name], i) => i === 0 ? h('th', { scope: 'row' }) : h('td', { 'data-of': name })));
  const update = (row: HTMLElement, server: Server): void => {
    setAttribute(row, 'data-role', server.role);
    columns.forEach(([, text], i) => {
      const cell = row.children[i];
      if (cell) setText(cell, text(server));
    });
  };
  app.overview.watch(signal, (overview) => {
    if (overview) reconcile(body, overview.servers, ({ id }) => id, create, update);
  });
  const element = card('Servers',
    h('div', { class: 'scroll-x', tabindex: 0, role: 'region', 'aria-label': 'Servers' }, table));
  element.classList.add('card-servers');
  return element;
}

function heartbeatCard(app: App, signal: AbortSignal): HTMLElement {
  const series = new SeriesWindow(minutes * 60_000);
  const chart = heartbeatChart(series, signal);
  const load = async (): Promise<void> => {
    const answer = await get<SeriesAnswer>('series', { minutes }, signal).catch(() => null);
    if (!answer) return;
    series.load(answer);
    chart.draw();
  };
  app.sampled.listen(signal, (sample) => {
    series.add(sample);
    chart.draw();
  });
  app.missed.listen(signal, () => void load());
  void load();
  chart.element.classList.add('card-chart');
  return chart.element;
}

function eventsCard(app: App, signal: AbortSignal): HTMLElement {
  const list = h('ol', { class: 'events' });
  const show = (): void => {
    const all = { words: '', kinds: new Set<string>() };
    const recent = app.timeline.shown(all).slice(0, recentEvents);
    reconcile(list, recent, ({ seq }) => String(seq), decisionItem, () => undefined);
  };
  app.timelineChanged.listen(signal, show);
  show();
  const element = card('Latest events', list,
    h('p', { class: 'more' }, h('a', { href: formatRoute('timeline') }, 'The whole timeline')));
  element.classList.add('card-events');
  return element;
}
