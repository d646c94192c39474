import { get, nodeStates, type NodeRow, type NodesAnswer } from '../api.ts';
import type { View } from '../app.ts';
import { append, debounce, gather, h, repeat, setText } from '../dom.ts';
import { heartbeatAge, hostPort } from '../drawer.ts';
import { clock, duration, percent, plural, wholeSeconds } from '../format.ts';
import { Grid, textColumn, type Column } from '../lists/grid.ts';
import { PagedRows } from '../lists/paged_rows.ts';
import { offerServices, serviceText, showState } from '../parts.ts';
import { noteParams, showNode } from '../route.ts';

/** A row and when it was received: ages grow here between two answers. */
type Row = NodeRow & { seenAt: number };

const pageSize = 200;
const refreshMs = 4000;
const rowHeight = 36;
const allServices = 'All services';

export const nodes: View = {
  name: 'nodes',
  title: 'Nodes',
  mount(root, app, params, signal) {
    const query = new NodesQuery(params);
    const services = h('select', { 'aria-label': 'Service' });
    offerServices(services, allServices, [], query.service);
    const summary = h('p', { class: 'summary', 'aria-live': 'polite' }, ' ');
    const rows = new PagedRows<Row>(pageSize, async (offset, limit) => {
      const answer = await get<NodesAnswer>('nodes', { ...query.words(), offset, limit }, signal);
      const seenAt = Date.now();
      offerServices(services, allServices, answer.services, query.service);
      return { total: answer.total, rows: answer.nodes.map((node) => ({ ...node, seenAt })) };
    }, () => {
      grid.setCount(rows.total);
      setText(summary, rows.total === 0 ? 'No node matches.' : plural(rows.total, 'node'));
    }, () => setText(summary, 'The nodes could not be read.'));

    const grid: Grid<Row> = new Grid<Row>({
      name: 'nodes', label: 'Nodes', rowHeight, columns: columns(),
      row: (index) => rows.row(index),
      onWindow: ({ first, last }) => rows.want(first, last),
      onOpen: ({ id }) => showNode(id),
      onSort: (by) => {
        query.sortBy(by);
        ask();
      },
    }, signal);
    const ask = (): void => {
      noteParams(query.words());
      grid.showSort(query.sort, query.descending);
      grid.choose(-1);
      grid.toTop();
      rows.restart();
    };

    append(root, filters(query, services, ask, summary), grid.element);
    grid.showSort(query.sort, query.descending);
    rows.want(0, pageSize);

    const outdate = gather(300, () => rows.outdate());
    app.changed.listen(signal, ({ upserts }) => {
      const byId = new Map(upserts.map((node) => [node.id, node]));
      const seenAt = Date.now();
      rows.replace((row) => {
        const node = byId.get(row.id);
        return node && { ...node, seenAt };
      });
      outdate();
    });
    app.missed.listen(signal, outdate);
    repeat(1000, signal, () => grid.plan());
    repeat(refreshMs, signal, () => rows.outdate());
  },
};

/** What is asked of the server, and how it stands in the address. */
class NodesQuery {
  q: string;
  state: string;
  service: string;
  tag: string;
  sort: string;
  descending: boolean;

  constructor(params: URLSearchParams) {
    this.q = params.get('q') ?? '';
    this.state = params.get('state') ?? '';
    // Links of earlier releases name the type.
    this.service = params.get('service') ?? params.get('type') ?? '';
    this.tag = params.get('tag') ?? '';
    this.sort = params.get('sort') ?? 'id';
    this.descending = params.get('order') === 'desc';
  }

  sortBy(by: string): void {
    this.descending = by === this.sort && !this.descending;
    this.sort = by;
  }

  words(): Record<string, string> {
    return { q: this.q, state: this.state, service: this.service, tag: this.tag,
      sort: this.sort, order: this.descending ? 'desc' : 'asc' };
  }
}

function filters(query: NodesQuery, services: HTMLSelectElement, ask: () => void,
  summary: HTMLElement): HTMLElement {
  const typed = debounce(200, ask);
  services.addEventListener('change', () => {
    query.service = services.value;
    ask();
  });
  const tag = h('input', {
    type: 'search', placeholder: 'Tag, as zone=b', 'aria-label': 'Tag', value: query.tag,
    spellcheck: 'false', autocomplete: 'off',
  });
  tag.addEventListener('input', () => {
    // Half a tag chooses nothing yet.
    query.tag = tag.value.includes('=') ? tag.value.trim() : '';
    typed();
  });
  const search = h('input', {
    type: 'search', placeholder: 'Id or address', 'aria-label': 'Search nodes', value: query.q,
    spellcheck: 'false', autocomplete: 'off',
  });
  search.addEventListener('input', () => {
    query.q = search.value;
    typed();
  });
  const choice = (label: string, all: string, values: readonly string[], value: string,
    choose: (value: string) => void): HTMLElement => {
    const select = h('select', { 'aria-label': label }, h('option', { value: '' }, all),
      ...values.map((each) => h('option', { value: each, selected: each === value }, each)));
    select.addEventListener('change', () => {
      choose(select.value);
      ask();
    });
    return select;
  };
  return h('div', { class: 'toolbar', role: 'search', 'aria-label': 'Nodes' }, search,
    choice('State', 'All states', nodeStates, query.state, (value) => { query.state = value; }),
    services, tag, summary);
}

function columns(): Column<Row>[] {
  return [
    {
      name: 'state', label: 'State', sort: 'state',
      make: (cell) => cell.append(h('span', { class: 'chip' })),
      show: (cell, { state }) => {
        if (cell.firstElementChild) showState(cell.firstElementChild, state);
      },
    },
    textColumn('id', 'Node', ({ id }) => id, 'id'),
    textColumn('service', 'Service', serviceText, 'service'),
    textColumn('address', 'Address', hostPort, 'address'),
    textColumn('age', 'Last heartbeat', ageNow, 'age'),
    textColumn('flaps', 'Flaps', ({ flaps }) => String(flaps), 'flaps'),
    textColumn('share', 'Ring share', ({ share }) => share > 0 ? percent(share) : '–'),
    textColumn('since', 'In state since', ({ stateSinceMs }) => since(stateSinceMs)),
  ];
}

function ageNow({ lastHeartbeatAgeMs: age, seenAt }: Row): string {
  if (age === null || age < 0) return heartbeatAge(age);
  const now = age + Date.now() - seenAt;
  return now < 1000 ? 'now' : heartbeatAge(wholeSeconds(now));
}

function since(atMs: number): string {
  const now = Date.now();
  return `${clock(atMs, now)} (${duration(wholeSeconds(now - atMs))})`;
}
