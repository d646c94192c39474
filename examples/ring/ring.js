// Muster's hash ring: which nodes hold a key. The algorithm is in docs/formats.md.
//
//   node ring.js vectors.txt     compares this implementation with the test vectors
'use strict';

const { createHash } = require('node:crypto');
const { readFileSync } = require('node:fs');

const VIRTUAL_NODES_MAX = 1 << 20;

// The first 8 bytes of the SHA-256, the lowest first. A BigInt: a number has 53 bits.
function position(bytes) {
  return createHash('sha256').update(bytes).digest().readBigUInt64LE(0);
}

const keyPosition = (key) => position(Buffer.from(key));

function virtualNodePosition(id, index) {
  const suffix = Buffer.alloc(4);
  suffix.writeUInt32LE(index);
  return position(Buffer.concat([Buffer.from(id), suffix]));
}

class Ring {
  // `weights`: the weight of each node that is ACTIVE or SUSPECT, by its id.
  constructor(weights, virtualNodes = 16, replication = 3) {
    this.replication = replication;
    this.points = [];
    for (const [id, weight] of Object.entries(weights)) {
      const count = Math.min(weight * virtualNodes, VIRTUAL_NODES_MAX);
      for (let index = 0; index < count; ++index) {
        this.points.push({ at: virtualNodePosition(id, index), id });
      }
    }
    // Nodes at one position stand in the order of their ids, compared byte by byte.
    this.points.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1
      : Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))));
  }

  // The nodes that hold the key, the primary first; fewer when there are no more.
  owners(key) {
    const wanted = keyPosition(key);
    let low = 0;
    let high = this.points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.points[middle].at < wanted) low = middle + 1; else high = middle;
    }
    const found = new Set();
    for (let step = 0; step < this.points.length && found.size < this.replication; ++step) {
      found.add(this.points[(low + step) % this.points.length].id);
    }
    return [...found];
  }
}

function check(path) {
  let ring;
  let checked = 0;
  for (const line of readFileSync(path, 'utf8').trim().split('\n')) {
    const [kind, ...words] = line.split(' ');
    if (kind === 'ring') {
      const weights = Object.fromEntries(words[2].split(',').map((word) => {
        const [id, weight] = word.split('=');
        return [id, Number(weight)];
      }));
      ring = new Ring(weights, Number(words[0]), Number(words[1]));
      continue;
    }
    const expected = words.at(-1);
    const now = kind === 'key' ? String(keyPosition(words[0]))
      : kind === 'virtual' ? String(virtualNodePosition(words[0], Number(words[1])))
        : ring.owners(words[0]).join(',');
    if (now !== expected) {
      console.error(`${line}: this implementation says ${now}`);
      process.exit(1);
    }
    ++checked;
  }
  console.log(`${checked} vectors agree`);
}

module.exports = { Ring, keyPosition, virtualNodePosition };
if (require.main === module) check(process.argv[2]);
