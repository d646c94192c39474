import assert from 'node:assert/strict';
import { test } from 'node:test';
import { angleOf, arcAt, arcsOf, positionAt } from '../src/ring/geometry.ts';
import { formatRoute, parseRoute, viewKey } from '../src/route.ts';

const points: [number, number][] = [[0.1, 0], [0.3, 1], [0.5, 1], [0.9, 2]];

test('an arc ends at its point, and the first begins after the last', () => {
  assert.deepEqual(arcsOf(points), [
    { from: 0.9 - 1, to: 0.1, node: 0 }, { from: 0.1, to: 0.5, node: 1 }, { from: 0.5, to: 0.9, node: 2 }]);
  assert.deepEqual(arcsOf([]), []);
});

test('arcs cover the ring once', () => {
  const covered = arcsOf(points).reduce((sum, { from, to }) => sum + to - from, 0);
  assert.ok(Math.abs(covered - 1) < 1e-12);
});

test('a position belongs to the first point at or after it', () => {
  const arcs = arcsOf(points);
  const owner = (position: number) => arcAt(arcs, position)?.node;
  assert.deepEqual([0, 0.1, 0.11, 0.5, 0.51, 0.9, 0.95].map(owner), [0, 0, 1, 1, 2, 2, 0]);
  assert.equal(arcAt([], 0.5), undefined);
});

test('zero is at the top and the ring runs clockwise', () => {
  assert.equal(angleOf(0.25), 0);
  assert.equal(positionAt(0, -10, 5, 15), 0);
  assert.equal(positionAt(10, 0, 5, 15), 0.25);
  assert.equal(positionAt(0, 10, 5, 15), 0.5);
  assert.equal(positionAt(-10, 0, 5, 15), 0.75);
  assert.equal(positionAt(0, 0, 5, 15), null);
  assert.equal(positionAt(0, 20, 5, 15), null);
});

test('a route survives its way through the address', () => {
  const route = parseRoute('#/nodes?state=down&q=a%26b&node=n1');
  assert.equal(route.view, 'nodes');
  assert.equal(route.params.get('q'), 'a&b');
  assert.equal(formatRoute(route.view, route.params), '#/nodes?state=down&q=a%26b&node=n1');
  assert.equal(viewKey(route), '#/nodes?state=down&q=a%26b');
  assert.equal(parseRoute('').view, 'overview');
  assert.equal(formatRoute('nodes', { state: '' }), '#/nodes');
});
