import { decisionKinds, type Decision } from '../api.ts';
import type { View } from '../app.ts';
import { append, debounce, h, setAttribute, setText } from '../dom.ts';
import { clock, plural } from '../format.ts';
import { Grid, textColumn } from '../lists/grid.ts';
import type { Filter } from '../live/timeline.ts';
import { nodeOf } from '../parts.ts';
import { noteParams, showNode } from '../route.ts';

const rowHeight = 48;
/** How much of the past is asked for at once; a search asks the server again. */
const pastMax = 1000;

export const timeline: View = {
  name: 'timeline',
  title: 'Timeline',
  mount(root, app, params, signal) {
    const kinds = new Set((params.get('kinds') ?? '').split(',').filter((kind) => kind !== ''));
    const filter: Filter & { words: string } = { words: params.get('q') ?? '', kinds };
    let shown: Decision[] = [];
    const summary = h('p', { class: 'summary' }, ' ');
    const grid = new Grid<Decision>({
      name: 'timeline', label: 'Timeline of events, the newest first', rowHeight,
      columns: [
        textColumn('time', 'Time', ({ atMs }) => clock(atMs, Date.now())),
        {
          name: 'kind', label: 'Kind',
          make: (cell) => cell.append(h('span', { class: 'kind' })),
          show: (cell, { kind, to }) => {
            const mark = cell.firstElementChild;
            if (!mark) return;
            setAttribute(mark, 'data-kind', kind);
            setAttribute(mark, 'data-to', to);
            setText(mark, kind);
          },
        },
        textColumn('subject', 'About', ({ subject }) => subject),
        {
          name: 'text', label: 'Event',
          make: (cell) => cell.append(h('span', {})),
          show: (cell, { text }) => {
            if (cell.firstElementChild) setText(cell.firstElementChild, text);
            setAttribute(cell, 'title', text);
          },
        },
        textColumn('epoch', 'Epoch', ({ epoch }) => epoch > 0 ? String(epoch) : ''),
      ],
      row: (index) => shown[index],
      onOpen: (decision) => {
        const node = nodeOf(decision);
        if (node !== null) showNode(node);
      },
    }, signal);

    const show = (): void => {
      const newest = shown[0]?.seq;
      shown = app.timeline.shown(filter);
      grid.setCount(shown.length);
      const added = shown.findIndex(({ seq }) => seq === newest);
      if (added > 0) grid.grewAtTop(added);
      const waiting = app.timeline.waitingCount;
      setText(pause, app.timeline.paused ? 'Resume' : 'Pause');
      setAttribute(pause, 'aria-pressed', String(app.timeline.paused));
      setText(summary, app.timeline.paused ? `paused, ${waiting} new`
        : shown.length === 0 ? 'No event matches.' : plural(shown.length, 'event'));
    };
    const pause = h('button', {
      type: 'button', class: 'choice pause', onclick: () => {
        if (app.timeline.paused) app.timeline.resume();
        else app.timeline.paused = true;
        show();
      },
    }, 'Pause');
    const ask = (): void => {
      noteParams({ q: filter.words, kinds: [...kinds].join(',') });
      grid.choose(-1);
      grid.toTop();
      show();
      void app.loadDecisions({ limit: pastMax, q: filter.words });
    };

    append(root, toolbar(filter, kinds, ask, pause, summary), grid.element);
    app.timelineChanged.listen(signal, show);
    app.missed.listen(signal, ask);
    signal.addEventListener('abort', () => app.timeline.resume());
    ask();
  },
};

function toolbar(filter: { words: string }, kinds: Set<string>, ask: () => void, pause: HTMLElement,
  summary: HTMLElement): HTMLElement {
  const typed = debounce(200, ask);
  const search = h('input', {
    type: 'search', placeholder: 'Search events', 'aria-label': 'Search events',
    value: filter.words, spellcheck: 'false', autocomplete: 'off',
  });
  search.addEventListener('input', () => {
    filter.words = search.value;
    typed();
  });
  const chips = decisionKinds.map((kind) => {
    const chip = h('button', {
      type: 'button', class: 'choice', 'aria-pressed': String(kinds.has(kind)), onclick: () => {
        if (!kinds.delete(kind)) kinds.add(kind);
        setAttribute(chip, 'aria-pressed', String(kinds.has(kind)));
        ask();
      },
    }, kind);
    return chip;
  });
  return h('div', { class: 'toolbar', role: 'search', 'aria-label': 'Timeline' }, search,
    h('div', { class: 'choices', role: 'group', 'aria-label': 'Kinds of events' }, ...chips),
    pause, summary);
}
