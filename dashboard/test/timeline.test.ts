import assert from 'node:assert/strict';
import { test } from 'node:test';
import server from '../../src/core/cluster/decision.cc';
import { decisionKinds } from '../src/api.ts';
import { Timeline } from '../src/live/timeline.ts';

const all = { words: '', kinds: new Set<string>() };
const decision = (seq: number, kind = 'transition', text = `number ${seq}`) =>
  ({ seq, atMs: seq, kind, subject: `n${seq}`, from: 'active', to: 'down', cause: 'silence', text, epoch: 1 });
const numbers = (timeline: Timeline, filter = all) => timeline.shown(filter).map(({ seq }) => seq);

test('the newest is first, each once, whatever the order in which they come', () => {
  const timeline = new Timeline(10);
  timeline.happened(decision(5));
  timeline.learn([decision(1), decision(2), decision(5)]);
  timeline.happened(decision(4));
  timeline.happened(decision(6));
  assert.deepEqual(numbers(timeline), [6, 5, 4, 2, 1]);
});

test('the oldest are forgotten beyond the bound', () => {
  const timeline = new Timeline(3);
  for (let seq = 1; seq <= 9; seq += 1) timeline.happened(decision(seq));
  assert.deepEqual(numbers(timeline), [9, 8, 7]);
});

test('while paused nothing new is seen, and nothing is lost', () => {
  const timeline = new Timeline(10);
  timeline.happened(decision(1));
  timeline.paused = true;
  timeline.happened(decision(2));
  timeline.happened(decision(3));
  assert.deepEqual(numbers(timeline), [1]);
  assert.equal(timeline.waitingCount, 2);
  timeline.resume();
  assert.deepEqual(numbers(timeline), [3, 2, 1]);
  assert.equal(timeline.waitingCount, 0);
});

test('a search looks at kind, subject, cause and text, in any case', () => {
  const timeline = new Timeline(10);
  timeline.learn([decision(1, 'leader', 'S2 leads'), decision(2), decision(3, 'engine')]);
  assert.deepEqual(numbers(timeline, { ...all, words: ' s2 LEADS ' }), [1]);
  assert.deepEqual(numbers(timeline, { ...all, words: 'n3' }), [3]);
  assert.deepEqual(numbers(timeline, { ...all, words: 'SILENCE' }), [3, 2, 1]);
  assert.deepEqual(numbers(timeline, { words: '', kinds: new Set(['engine', 'leader']) }), [3, 1]);
  assert.deepEqual(numbers(timeline, { words: 'n1', kinds: new Set(['engine']) }), []);
});

test('every kind that a server tells can be chosen', () => {
  const names = /to_string\(DecisionKind kind\) \{\s*static constexpr std::array kNames\{([^}]*)\}/.exec(server);
  const told = [...names[1].matchAll(/"([a-z]+)"/g)].map(([, name]) => name).filter((name) => name !== 'unknown');
  assert.deepEqual([...decisionKinds].sort(), told.sort());
});

test('a worker that could not reach the store is found by its kind, its name and its namespace', () => {
  const timeline = new Timeline(10);
  timeline.learn([decision(1), { ...decision(2, 'breaker', 'billing-2 of namespace=billing reaches the store again; ' +
    'it could not from 12:01:03 UTC for 31s: 7 heartbeats failed, and its breaker opened 3 times'),
  subject: 'namespace=billing', from: '', to: 'billing-2', cause: 'ended' }]);
  assert.deepEqual(numbers(timeline, { words: '', kinds: new Set(['breaker']) }), [2]);
  for (const words of ['breaker', 'billing-2', 'namespace=billing']) {
    assert.deepEqual(numbers(timeline, { ...all, words }), [2]);
  }
});
