'use strict';
// What the Node package computes is what every language computes: bindings/vectors.json.
const assert = require('node:assert/strict');
const path = require('node:path');
const {test} = require('node:test');
const {PACKAGE} = require('./node_scene.js');
const vectors = require('../../bindings/vectors.json');
const {Campaign} = require(path.join(PACKAGE, 'lib/campaign.js'));
const {codeOf} = require(path.join(PACKAGE, 'lib/errors.js'));
const {Lease} = require(path.join(PACKAGE, 'lib/lease.js'));
const {Ring} = require(path.join(PACKAGE, 'lib/ring.js'));

test('the ring', () => {
  assert(vectors.ring.length > 5);
  for (const each of vectors.ring) {
    const ring = new Ring(Object.entries(each.weights), each.virtual_nodes, each.replication);
    for (const [key, owners] of Object.entries(each.owners)) assert.deepEqual(ring.owners(key), owners, key);
  }
});

test('leases', () => {
  for (const {lease_ms: lease, left_ms: left, sent_ms: sent, deadline_ms: deadline} of vectors.leases) {
    const campaign = new Campaign({lease, tell() {}});
    campaign.takeWork(sent);
    campaign.heard('granted', {epoch: 1, beat: 0, left_ms: left}, sent + 1);
    assert.equal(campaign.deadline, deadline);
  }
});

for (const {title, steps} of vectors.terms) {
  test(`terms: ${title}`, () => {
    const lease = new Lease();
    let answered = false;
    for (const step of steps) {
      if ('send' in step) lease.sent(step.send, step.at_ms);
      else if ('answer' in step) {
        if (answered) lease.renew(step.answer, step.left_ms, step.at_ms);
        else lease.grant(step.answer, step.left_ms, step.at_ms);
        answered = true;
      } else {
        assert.equal(lease.valid(step.at_ms), step.valid, `at ${step.at_ms}`);
        if (step.valid) assert.equal(lease.deadline - step.at_ms, step.left_ms, `at ${step.at_ms}`);
      }
    }
  });
}

test('errors', () => {
  assert(vectors.errors.length > 30);
  for (const {code, answered, leader_address: leaderAddress, read, write} of vectors.errors) {
    assert.equal(codeOf(code, {answered, leaderAddress, writes: false}), read, `${code} ${answered}`);
    assert.equal(codeOf(code, {answered, leaderAddress, writes: true}), write, `${code} ${answered}`);
  }
});
