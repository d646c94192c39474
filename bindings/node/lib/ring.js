'use strict';
const {createHash} = require('node:crypto');

/** One node has at most this many virtual nodes. */
const VIRTUAL_NODES_MAX = 1 << 20;

const position = (bytes) => createHash('sha256').update(bytes).digest().readBigUInt64LE(0);

function positions(id, count) {
  const bytes = Buffer.concat([Buffer.from(id), Buffer.alloc(4)]);
  return Array.from({length: count}, (_, index) => {
    bytes.writeUInt32LE(index, bytes.length - 4);
    return position(bytes);
  });
}

/** Which nodes hold a key, as docs/formats.md describes it. */
class Ring {
  #points = [];
  #replication;

  /** `members`: [id, weight] of each node that takes part. */
  constructor(members, virtualNodes, replication) {
    this.#replication = replication;
    for (const [id, weight] of members) {
      const bytes = Buffer.from(id);
      for (const at of positions(id, Math.min(weight * virtualNodes, VIRTUAL_NODES_MAX))) {
        this.#points.push({at, id, bytes});
      }
    }
    this.#points.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : Buffer.compare(a.bytes, b.bytes)));
  }

  /** The ids of the nodes that hold the key, the primary first; fewer if there are no more. */
  owners(key, count = this.#replication) {
    const wanted = position(Buffer.from(key));
    let low = 0;
    for (let high = this.#points.length; low < high; ) {
      const middle = (low + high) >> 1;
      if (this.#points[middle].at < wanted) low = middle + 1;
      else high = middle;
    }
    const found = new Set();
    for (let step = 0; step < this.#points.length && found.size < count; ++step) {
      found.add(this.#points[(low + step) % this.#points.length].id);
    }
    return [...found];
  }
}

module.exports = {Ring};
