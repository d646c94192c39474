import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linePath, nearest, scale, timeTicks, valueLabels, valueTicks } from '../src/chart/scale.ts';

test('a scale maps ends to ends, also upside down', () => {
  const up = scale(10, 20, 100, 300);
  assert.deepEqual([10, 15, 20].map(up), [100, 200, 300]);
  const down = scale(0, 4, 150, 10);
  assert.deepEqual([0, 1, 4].map(down), [150, 115, 10]);
});

test('ticks of values are round, begin at zero and reach the highest value', () => {
  assert.deepEqual(valueTicks(9.2, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(valueTicks(10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(valueTicks(10.1, 5), [0, 5, 10, 15]);
  assert.deepEqual(valueTicks(212, 5), [0, 50, 100, 150, 200, 250]);
  assert.deepEqual(valueTicks(1.4, 5), [0, 0.5, 1, 1.5]);
  assert.deepEqual(valueTicks(0.9, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
});

test('ticks of values hold for whatever size, with room for their labels', () => {
  for (let high = 1; high < 1e9; high *= 1.37) {
    for (const most of [3, 4, 5, 8]) {
      const ticks = valueTicks(high, most);
      const step = ticks[1] ?? 0;
      assert.ok((ticks.at(-1) ?? 0) >= high && (ticks.at(-2) ?? 0) < high, `${high}: ${ticks}`);
      assert.ok(ticks.length <= most + 1 && ticks.length > 2, `${high}: ${ticks}`);
      assert.match(step.toExponential(), /^[125]e/);
    }
  }
});

test('an idle cluster is drawn low, not blown up', () => {
  assert.equal(valueTicks(0, 5).at(-1), 1);
  assert.equal(valueTicks(0.003, 5).at(-1), 1);
});

test('labels of values have the same digits, and large ones are short', () => {
  assert.deepEqual(valueLabels([0, 0.5, 1, 1.5]), ['0', '0.5', '1.0', '1.5']);
  assert.deepEqual(valueLabels([0, 2, 4]), ['0', '2', '4']);
  assert.deepEqual(valueLabels([0, 2000, 4000]), ['0', '2,000', '4,000']);
  assert.deepEqual(valueLabels([0, 5000, 10_000]), ['0', '5K', '10K']);
  assert.deepEqual(valueLabels([0, 500_000, 1_000_000, 1_500_000]), ['0', '500K', '1M', '1.5M']);
});

const minute = 60_000;
const noon = Date.UTC(2026, 4, 3, 12);
const minutesOf = (ticks: number[]) => ticks.map((tick) => (tick - noon) / minute);

test('ticks of time are round, inside the span and no more than fit', () => {
  const at = noon + 7.5 * minute;
  assert.deepEqual(minutesOf(timeTicks(at - 15 * minute, at, 8, 0)), [-6, -4, -2, 0, 2, 4, 6]);
  assert.deepEqual(minutesOf(timeTicks(at - 15 * minute, at, 4, 0)), [-5, 0, 5]);
  assert.deepEqual(minutesOf(timeTicks(at - 60 * minute, at, 5, 0)), [-45, -30, -15, 0]);
  assert.deepEqual(minutesOf(timeTicks(at - 5 * minute, at, 8, 0)), [3, 4, 5, 6, 7]);
  assert.deepEqual(minutesOf(timeTicks(noon - 10 * minute, noon, 3, 0)), [-10, -5, 0]);
  for (let most = 0; most < 12; most += 1) {
    const ticks = timeTicks(noon - 60 * minute, noon, most, 0);
    assert.ok(ticks.length <= Math.max(2, most), `${most}: ${minutesOf(ticks)}`);
  }
});

test('ticks of time are round by the clock on the wall', () => {
  const kathmandu = 345 * minute;  // Noon in Greenwich is 17:45 there.
  assert.deepEqual(minutesOf(timeTicks(noon, noon + 60 * minute, 3, kathmandu)), [15, 45]);
});

test('a line ends where a value is missing, and one without neighbours can be seen', () => {
  assert.equal(linePath([0, 10, 20], [1, 2.345, 3]), 'M0 1L10 2.3L20 3');
  assert.equal(linePath([0, 10, 20, 30, 40], [1, 2, null, 4, 5]), 'M0 1L10 2M30 4L40 5');
  assert.equal(linePath([0, 10, 20], [null, 5, null]), 'M9 5h2');
  assert.equal(linePath([0, 10, 20], [0, null, 0]), 'M-1 0h2M19 0h2');
  assert.equal(linePath([0, 10, 20], [1, 2]), 'M0 1L10 2');
  assert.equal(linePath([0, 10], [null, null]), '');
  assert.equal(linePath([], []), '');
});

test('the pointer finds the nearest sample', () => {
  const xs = [10, 20, 30];
  assert.deepEqual([0, 10, 14, 16, 24, 26, 30, 99].map((at) => nearest(xs, at)), [0, 0, 0, 1, 1, 2, 2, 2]);
  assert.equal(nearest([], 5), null);
});
