import { get, type Namespace, type NamespacesAnswer } from '../api.ts';
import type { View } from '../app.ts';
import { append, h, reconcile, repeat, setAttribute, setText } from '../dom.ts';
import { clock, count, duration, plural } from '../format.ts';
import { card } from '../parts.ts';

const refreshMs = 2000;

export const namespaces: View = {
  name: 'namespaces',
  title: 'Namespaces',
  mount(root, app, _params, signal) {
    const body = h('tbody', {});
    const names = ['Namespace', 'Leader', 'Epoch', 'Lease left', 'Workers', 'Since'];
    const table = h('table', {},
      h('thead', {}, h('tr', {}, ...names.map((name) => h('th', { scope: 'col' }, name)))), body);
    const empty = h('p', { class: 'empty' }, ' ');
    append(root, card('Namespaces', h('p', { class: 'note' },
      'Elections that are judged by this cluster (muster:// arbiters), as their state objects tell.'),
    h('div', { class: 'scroll-x', tabindex: 0, role: 'region', 'aria-label': 'Namespaces' }, table),
    empty));

    let read: Namespace[] = [];
    let readAt = 0;
    const show = (): void => {
      if (readAt === 0) return;
      const passed = Date.now() - readAt;
      reconcile(body, read, ({ name }) => name, createRow,
        (row, namespace) => updateRow(row, namespace, passed));
      setText(empty, read.length === 0 ? 'No elections in this cluster.' : plural(read.length, 'namespace'));
    };
    const load = async (): Promise<void> => {
      const answer = await get<NamespacesAnswer>('namespaces', {}, signal).catch(() => null);
      if (!answer) return;
      read = answer.namespaces;
      readAt = Date.now();
      show();
    };
    repeat(refreshMs, signal, () => void load());
    repeat(500, signal, show);
    app.missed.listen(signal, () => void load());
  },
};

function createRow(): HTMLElement {
  return h('tr', {}, h('th', { scope: 'row' }), ...Array.from({ length: 5 }, () => h('td', {})));
}

function updateRow(row: HTMLElement, namespace: Namespace, passedMs: number): void {
  const now = Date.now();
  const left = namespace.leaseLeftMs - passedMs;
  const texts = [
    namespace.name,
    namespace.leader ?? 'nobody',
    count(namespace.epoch),
    namespace.leader === null ? '–' : left > 0 ? duration(left) : 'ended',
    count(namespace.workers),
    namespace.sinceMs > 0 ? clock(namespace.sinceMs, now) : '–',
  ];
  setAttribute(row, 'data-leaderless', namespace.leader === null || left <= 0);
  texts.forEach((text, i) => {
    const cell = row.children[i];
    if (cell) setText(cell, text);
  });
}
