import { get, type SeriesAnswer } from '../api.ts';
import type { View } from '../app.ts';
import { chartsOf, type Chart } from '../charts.ts';
import { append, h, setAttribute } from '../dom.ts';
import { SeriesWindow } from '../live/series.ts';
import { noteParams } from '../route.ts';

const choices = [5, 15, 60];

export const charts: View = {
  name: 'charts',
  title: 'Charts',
  mount(root, app, params, signal) {
    const asked = Number(params.get('minutes'));
    let minutes = choices.includes(asked) ? asked : 15;
    let series = new SeriesWindow(minutes * 60_000);
    let drawn: Chart[] = [];
    let inner = new AbortController();
    const box = h('div', { class: 'charts' });

    const load = async (): Promise<void> => {
      const into = series;
      const answer = await get<SeriesAnswer>('series', { minutes }, signal).catch(() => null);
      if (!answer || into !== series) return;
      series.load(answer);
      for (const chart of drawn) chart.draw();
    };
    const choose = (): void => {
      inner.abort();
      inner = new AbortController();
      series = new SeriesWindow(minutes * 60_000);
      box.replaceChildren();
      drawn = chartsOf(series, inner.signal, box);
      buttons.forEach((button, i) => setAttribute(button, 'aria-pressed', String(choices[i] === minutes)));
      void load();
    };
    const buttons = choices.map((choice) => h('button', {
      type: 'button', class: 'choice', onclick: () => {
        minutes = choice;
        noteParams({ minutes: String(minutes) });
        choose();
      },
    }, `${choice} min`));

    append(root, h('div', { class: 'toolbar', role: 'group', 'aria-label': 'Span of time' }, ...buttons),
      box);
    choose();
    app.missed.listen(signal, () => void load());
    app.sampled.listen(signal, (sample) => {
      series.add(sample);
      for (const chart of drawn) chart.draw();
    });
    signal.addEventListener('abort', () => inner.abort());
  },
};
