import { App, type View } from './app.ts';
import type { Overview } from './api.ts';
import { append, byId, h, setAttribute, setText } from './dom.ts';
import { Drawer } from './drawer.ts';
import { count } from './format.ts';
import { staleness } from './live/freshness.ts';
import { formatRoute, noted, parseRoute, viewKey } from './route.ts';
import { startTheme } from './theme.ts';
import { charts } from './views/charts.ts';
import { namespaces } from './views/namespaces.ts';
import { nodes } from './views/nodes.ts';
import { overview } from './views/overview.ts';
import { ring } from './views/ring.ts';
import { timeline } from './views/timeline.ts';

const views: View[] = [overview, nodes, ring, timeline, charts, namespaces];
const always = new AbortController().signal;

/** Shows the view that the address names, and the drawer when it names a node. */
function startViews(app: App): void {
  const root = byId('view');
  const drawer = new Drawer(byId('drawer'), app);
  const links = new Map(views.map((view) =>
    [view, h('a', { href: formatRoute(view.name), 'data-title': view.title }, view.title)]));
  append(byId('nav'), h('ul', {}, ...[...links.values()].map((link) => h('li', {}, link))));
  let leave = new AbortController();
  let shown: string | null = null;

  const go = (): void => {
    const route = parseRoute(location.hash);
    const view = views.find(({ name }) => name === route.view) ?? overview;
    drawer.show(route.params.get('node'));
    if (viewKey(route) === shown) return;
    const first = shown === null;
    shown = viewKey(route);
    leave.abort();
    leave = new AbortController();
    root.replaceChildren(h('h1', { class: 'unseen' }, view.title));
    root.className = `view view-${view.name}`;
    root.scrollTop = 0;
    for (const [each, link] of links) {
      setAttribute(link, 'aria-current', each === view ? 'page' : undefined);
    }
    document.title = view === overview ? 'Muster' : `${view.title} · Muster`;
    view.mount(root, app, route.params, leave.signal);
    // So that a screen reader begins with the new view; not at first, when it reads the page anyway.
    if (!first) root.focus({ preventScroll: true });
  };
  noted.listen(always, () => { shown = viewKey(parseRoute(location.hash)); });
  addEventListener('hashchange', go);
  go();
}

/** The mark in the header and the banner: is what one sees the present? */
function startFreshness(app: App): void {
  const banner = byId('banner');
  const words = h('span', {});
  const retry = h('button', { type: 'button', onclick: () => app.retryNow() }, 'Try now');
  append(banner, words, retry);

  let wasStale = false;
  const show = (): void => {
    const link = app.link.value;
    const last = app.overview.value;
    const stale = staleness(link, last?.staleMs ?? 0, Date.now());
    banner.hidden = stale === null;
    retry.hidden = !stale?.retry;
    if (stale) setText(words, stale.text);
    // The banner counts seconds; told aloud it would never end.
    if (wasStale !== (stale !== null)) announce(stale?.text ?? 'This page is live again.');
    wasStale = stale !== null;
    document.body.toggleAttribute('data-stale', stale !== null);
    setAttribute(byId('link'), 'data-link', stale ? 'lost' : link.kind);
    setText(byId('link-text'), stale ? 'stale' : link.kind === 'live' && last
      ? `live from ${last.server}, version ${count(last.version)}` : 'connecting');
  };
  app.link.watch(always, show);
  app.overview.watch(always, show);
  setInterval(show, 1000);
}

const announce = (text: string): void => setText(byId('announcer'), text);

/** What a person who does not look at the screen must not miss. */
function startAnnouncer(app: App): void {
  let before: Overview | null = null;
  app.overview.watch(always, (now) => {
    const leader = now?.cluster.leader;
    if (now && before && leader?.id !== before.cluster.leader?.id) {
      announce(leader ? `${leader.id} leads now, epoch ${leader.epoch}.` : 'Nobody leads.');
    }
    before = now;
  });
}

const app = new App();
startTheme(byId('theme'));
startFreshness(app);
startAnnouncer(app);
startViews(app);
app.start();
