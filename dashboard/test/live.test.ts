import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoff } from '../src/live/feed.ts';
import { staleness } from '../src/live/freshness.ts';
import { SeriesWindow } from '../src/live/series.ts';
import { EventParser } from '../src/live/sse.ts';
import { Happening, Watched } from '../src/live/watched.ts';

test('events are found wherever the network cuts the stream', () => {
  const text = ': hello\n\nid: 7\nevent: decision\ndata: {"a":\ndata: 1}\n\nevent: overview\r\ndata:{}\r\n\r\n';
  for (let cut = 0; cut <= text.length; cut += 1) {
    const parser = new EventParser();
    assert.deepEqual([...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))], [
      { event: 'decision', data: '{"a":\n1}', id: '7' },
      { event: 'overview', data: '{}', id: null },
    ], `cut at ${cut}`);
  }
});

test('an event without an end is not an event', () => {
  assert.deepEqual(new EventParser().push('event: decision\ndata: {}\n'), []);
});

test('waits grow to a bound and are never the same for all browsers', () => {
  assert.equal(backoff(1, 1), 500);
  assert.equal(backoff(2, 1), 1000);
  assert.equal(backoff(50, 1), 5000);
  assert.equal(backoff(50, 0), 2500);
});

test('a lost server makes the page stale, with the time since when', () => {
  const now = new Date(2026, 4, 3, 12, 0, 12).getTime();
  const since = now - 12_000;
  const stale = staleness({ kind: 'lost', since, retryAt: now + 3000, reason: 'It is gone.' }, 0, now);
  assert.deepEqual(stale,
    { text: 'Stale since 12:00:00 (12 s). It is gone. Trying again in 3 s.', retry: true });
});

test('a server that answers from an old copy makes the page stale, too', () => {
  const now = new Date(2026, 4, 3, 12, 0, 30).getTime();
  const live = { kind: 'live', since: 0 } as const;
  assert.equal(staleness(live, 2000, now), null);
  assert.match(staleness(live, 30_000, now)?.text ?? '', /^Stale since 12:00:00 \(30 s\)\./);
  assert.equal(staleness({ kind: 'connecting', since: now }, 0, now), null);
});

const nothing = { heartbeatP50Ms: null, heartbeatP95Ms: null, heartbeatP99Ms: null, batchSize: null,
  commitsPerSecond: null };

test('a window of series slides, and takes no sample twice', () => {
  const series = new SeriesWindow(2000);
  const none = [null, null];
  series.load({ server: 's1', version: 1, staleMs: 0, startMs: 10_000, stepMs: 1000, series: {
    heartbeatP50Ms: none, heartbeatP95Ms: none, heartbeatP99Ms: none, batchSize: none,
    commitsPerSecond: none, watchers: [1, 2] } });
  series.add({ atMs: 11_000, ...nothing, watchers: 99 });
  series.add({ atMs: 12_000, ...nothing, watchers: 3 });
  series.add({ atMs: 13_000, ...nothing, watchers: null });
  assert.deepEqual(series.times, [11_000, 12_000, 13_000]);
  assert.deepEqual(series.column('watchers'), [2, 3, null]);
  assert.equal(series.latest('watchers'), 3);
  assert.deepEqual(series.span(99_000), [11_000, 13_000]);
  assert.deepEqual(new SeriesWindow(2000).span(99_000), [97_000, 99_000]);
  assert.equal(series.latest('batchSize'), null);
});

test('watchers end with their signal', () => {
  const control = new AbortController();
  const seen: number[] = [];
  const value = new Watched(1);
  const event = new Happening<number>();
  value.watch(control.signal, (now) => seen.push(now));
  event.listen(control.signal, (now) => seen.push(now));
  value.set(2);
  event.tell(3);
  control.abort();
  value.set(4);
  event.tell(5);
  assert.deepEqual(seen, [1, 2, 3]);
});
