import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clock, count, duration, figure, lastSeen, percent, plural, wholeSeconds } from '../src/format.ts';

test('a duration has two units at most', () => {
  const minute = 60_000;
  const told: [number, string][] = [
    [-5, '0 ms'], [0, '0 ms'], [340, '340 ms'], [999.6, '1.0 s'], [1000, '1 s'], [4210, '4.2 s'],
    [12_300, '12 s'], [59_600, '1 min'], [3 * minute + 5000, '3 min 5 s'], [11 * minute + 5000, '11 min'],
    [130 * minute, '2 h 10 min'], [120 * minute, '2 h'], [76 * 60 * minute, '3 d 4 h'],
  ];
  for (const [ms, words] of told) assert.equal(duration(ms), words);
});

test('a duration that counts up does so in whole seconds', () => {
  assert.equal(duration(wholeSeconds(4210)), '4 s');
  assert.equal(duration(wholeSeconds(0)), '1 s');
});

test('a share is never rounded to nothing', () => {
  assert.equal(percent(0), '0 %');
  assert.equal(percent(0.000001), '< 0.001 %');
  assert.equal(percent(0.000213), '0.021 %');
  assert.equal(percent(0.0051), '0.51 %');
  assert.equal(percent(0.107), '10.7 %');
  assert.equal(percent(1), '100 %');
});

test('an instant of another day carries its date', () => {
  const at = new Date(2026, 4, 3, 7, 8, 9).getTime();
  assert.equal(clock(at, at + 1000), '07:08:09');
  assert.equal(clock(at, at + 86_400_000), '2026-05-03 07:08:09');
});

test('figures and counts', () => {
  assert.equal(figure(null), '–');
  assert.equal(figure(0), '0');
  assert.equal(figure(0.123), '0.12');
  assert.equal(figure(3.14), '3.1');
  assert.equal(figure(12_345.6), '12,346');
  assert.equal(count(10_000), '10,000');
  assert.equal(plural(1, 'entry', 'entries'), '1 entry');
  assert.equal(plural(0, 'node'), '0 nodes');
});

test('one that was not heard is not said to have been', () => {
  assert.equal(lastSeen(120, true), 'now');
  assert.equal(lastSeen(4210, true), '4.2 s ago');
  assert.equal(lastSeen(4210, false), 'silent for 4.2 s');
  assert.equal(lastSeen(null, false), '–');
});
