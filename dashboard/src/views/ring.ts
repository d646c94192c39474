import { get, type Move, type PlanAnswer, type RingAnswer } from '../api.ts';
import type { App, View } from '../app.ts';
import { append, gather, h, setAttribute, setText } from '../dom.ts';
import { count, percent, plural } from '../format.ts';
import { Grid, type Column } from '../lists/grid.ts';
import { card, fill, offerServices } from '../parts.ts';
import { RingCanvas, toneCount } from '../ring/canvas.ts';
import { arcAt, arcsOf, type Arc } from '../ring/geometry.ts';
import { noteParams } from '../route.ts';
import { themeChanged } from '../theme.ts';

interface Row {
  id: string;
  index: number;
  share: number;
  flagged: boolean;
}

const rowHeight = 34;
const heirsShown = 12;
const sharedRing = 'frontend, metadata and object';

export const ring: View = {
  name: 'ring',
  title: 'Ring',
  mount(root, app, params, signal) {
    new RingView(root, params.get('select'), params.get('service') ?? '', signal).follow(app);
  },
};

/** The ring, the shares of its nodes, and what would move if the chosen one left. */
class RingView {
  private answer: RingAnswer | null = null;
  private arcs: Arc[] = [];
  private rows: Row[] = [];
  private largest = 1;
  private words = '';
  private hovered: number | null = null;
  private heirs = new Map<number, number>();
  private readonly canvas: RingCanvas;
  private readonly grid: Grid<Row>;
  private readonly figure = h('strong', {}, '–');
  private readonly label = h('span', {}, ' ');
  private readonly note = h('p', { class: 'note' }, ' ');
  private readonly planText = h('p', { class: 'lead', 'aria-live': 'polite' });
  private readonly planList = h('ol', { class: 'moves' });

  private readonly services = h('select', { 'aria-label': 'Service' });

  constructor(root: HTMLElement, private chosen: string | null, private service: string,
    private readonly signal: AbortSignal) {
    this.canvas = new RingCanvas(h('canvas', { class: 'ring', role: 'img' }));
    this.grid = new Grid<Row>({
      name: 'ring', label: 'Nodes of the ring, the largest share first', rowHeight,
      columns: this.columns(), row: (index) => this.rows[index],
      onActive: (row) => row && this.choose(row.id),
    }, signal);
    const search = h('input', {
      type: 'search', placeholder: 'Node', 'aria-label': 'Search nodes of the ring',
      spellcheck: 'false', autocomplete: 'off',
    });
    search.addEventListener('input', () => {
      this.words = search.value.trim().toLowerCase();
      this.list(true);
    });
    append(root,
      h('section', { class: 'card card-ring', 'aria-label': 'Hash ring' }, h('h2', {}, 'Hash ring'),
        this.services, h('div', { class: 'ring-box' }, this.canvas.element,
          h('p', { class: 'ring-middle' }, this.figure, this.label)), this.note),
      h('section', { class: 'card card-shares', 'aria-label': 'Shares' }, h('h2', {}, 'Shares'),
        search, this.grid.element),
      card('If it left', this.planText, this.planList));
    offerServices(this.services, sharedRing, [], this.service);
    this.services.addEventListener('change', () => {
      this.service = this.services.value;
      this.choose(null);
      void this.load();
    });
    this.watchPointer();
    this.showPlan(null);
  }

  follow(app: App): void {
    const { signal } = this;
    const reload = gather(1000, () => void this.load());
    app.changed.listen(signal, reload);
    app.missed.listen(signal, reload);
    themeChanged.listen(signal, () => this.paint());
    const observer = new ResizeObserver(() => this.paint());
    observer.observe(this.canvas.element);
    signal.addEventListener('abort', () => observer.disconnect());
    void this.load();
  }

  private async load(): Promise<void> {
    const { service } = this;
    const answer = await get<RingAnswer>('ring', { service }, this.signal).catch(() => null);
    if (!answer || service !== this.service) return;
    offerServices(this.services, sharedRing, answer.services, service);
    const first = this.answer === null;
    this.answer = answer;
    this.arcs = arcsOf(answer.points);
    this.largest = Math.max(1e-9, ...answer.nodes.map(({ share }) => share));
    const points = answer.nodes.length * answer.virtualNodes;
    setText(this.note, `${plural(answer.nodes.length, 'node')}, ${answer.virtualNodes} points each` +
      (answer.thinned ? `; drawn from ${count(answer.points.length)} of ${count(points)} points.` : '.'));
    this.list(first);
    await this.plan();
  }

  private list(reveal: boolean): void {
    this.rows = (this.answer?.nodes ?? [])
      .map((node, index) => ({ ...node, index }))
      .filter(({ id }) => id.toLowerCase().includes(this.words))
      .sort((a, b) => b.share - a.share || (a.id < b.id ? -1 : 1));
    this.grid.setCount(this.rows.length);
    this.grid.choose(this.rows.findIndex(({ id }) => id === this.chosen), reveal);
    this.paint();
  }

  private choose(id: string | null): void {
    this.chosen = id;
    noteParams({ select: id ?? '', service: this.service });
    this.grid.choose(this.rows.findIndex((row) => row.id === id));
    this.heirs.clear();
    this.paint();
    void this.plan();
  }

  private async plan(): Promise<void> {
    const id = this.chosen;
    const inRing = this.indexOf(id) !== null;
    const plan = id !== null && inRing
      ? await get<PlanAnswer>('ring/plan', { remove: id, service: this.service }, this.signal).catch(() => null) : null;
    if (id === this.chosen) this.showPlan(plan);
  }

  private showPlan(plan: PlanAnswer | null): void {
    const moves = (plan?.moves ?? []).slice(0, heirsShown);
    this.heirs = new Map(moves.map(({ to }, place) => [this.indexOf(to) ?? -1, place % toneCount]));
    const most = moves[0]?.share ?? 1;
    setText(this.planText, this.chosen === null
      ? 'Choose a node, on the ring or in the list, to see which keys would move.'
      : !plan ? `${this.chosen} is not in the ring.`
        : `If ${this.chosen} left, ${percent(plan.movedShare)} of the keys would move.`);
    this.planList.replaceChildren(...moves.map((move, place) => moveItem(move, most, place % toneCount)));
    const more = (plan?.moves.length ?? 0) - moves.length;
    if (more > 0) append(this.planList, h('li', { class: 'more' }, `and ${plural(more, 'smaller move')}`));
    this.paint();
  }

  private indexOf(id: string | null): number | null {
    const index = this.answer?.nodes.findIndex((node) => node.id === id) ?? -1;
    return index < 0 ? null : index;
  }

  private paint(): void {
    const { answer } = this;
    if (!answer) return;
    const chosen = this.indexOf(this.chosen);
    const spoken = answer.nodes[this.hovered ?? chosen ?? -1];
    setText(this.figure, spoken ? percent(spoken.share) : count(answer.nodes.length));
    setText(this.label, spoken ? spoken.id : answer.nodes.length === 1 ? 'node' : 'nodes');
    setAttribute(this.canvas.element, 'aria-label', `Hash ring of ${plural(answer.nodes.length, 'node')}` +
      (spoken ? `; ${spoken.id} holds ${percent(spoken.share)}` : ''));
    this.grid.plan();
    this.canvas.paint({
      arcs: this.arcs,
      chosen: this.hovered ?? chosen,
      flagged: (node) => answer.nodes[node]?.flagged ?? false,
      heirTone: (node) => this.hovered === null ? this.heirs.get(node) ?? null : null,
    });
  }

  /** The colour that a node has on the ring at this moment. */
  private toneOf(index: number): number | string | undefined {
    if (this.chosen === null) return index % toneCount;
    return index === this.indexOf(this.chosen) ? 'chosen' : this.heirs.get(index);
  }

  private watchPointer(): void {
    const { element } = this.canvas;
    const nodeUnder = (event: MouseEvent): number | null => {
      const position = this.canvas.positionOf(event);
      return position === null ? null : arcAt(this.arcs, position)?.node ?? null;
    };
    const hover = (node: number | null): void => {
      if (node === this.hovered) return;
      this.hovered = node;
      this.paint();
    };
    element.addEventListener('pointermove', (event) => hover(nodeUnder(event)));
    element.addEventListener('pointerleave', () => hover(null));
    element.addEventListener('click', (event) => {
      const node = nodeUnder(event);
      this.hovered = null;
      this.choose(node === null ? null : this.answer?.nodes[node]?.id ?? null);
    });
  }

  private columns(): Column<Row>[] {
    return [
      {
        name: 'node', label: 'Node',
        make: (cell) => append(cell, h('span', { class: 'swatch' }), h('span', {})),
        show: (cell, { id, index, flagged }) => {
          const [swatch, name] = cell.children;
          if (swatch) setAttribute(swatch, 'data-tone', this.toneOf(index));
          if (name) setText(name, flagged ? `${id} (suspect)` : id);
        },
      },
      {
        name: 'share', label: 'Share',
        make: (cell) => append(cell, h('span', {}), h('span', { class: 'bar', 'aria-hidden': 'true' })),
        show: (cell, { share }) => {
          const [text, bar] = cell.children;
          if (text) setText(text, percent(share));
          if (bar instanceof HTMLElement) fill(bar, share / this.largest);
        },
      },
    ];
  }
}

function moveItem({ to, share }: Move, most: number, tone: number): HTMLElement {
  const bar = h('span', { class: 'bar', 'aria-hidden': 'true' });
  fill(bar, share / most);
  return h('li', {}, h('span', { class: 'swatch', 'data-tone': tone }),
    h('span', { class: 'move-to' }, `to ${to}`), h('strong', {}, percent(share)), bar);
}
