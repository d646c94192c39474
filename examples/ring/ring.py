#!/usr/bin/env python3
"""Muster's hash ring: which nodes hold a key. The algorithm is in docs/formats.md.

    python3 ring.py vectors.txt     compares this implementation with the test vectors
"""
import bisect
import hashlib
import struct
import sys

VIRTUAL_NODES_MAX = 1 << 20


def position(data: bytes) -> int:
    """The first 8 bytes of the SHA-256, the lowest first."""
    return struct.unpack("<Q", hashlib.sha256(data).digest()[:8])[0]


def key_position(key: str) -> int:
    return position(key.encode())


def virtual_node_position(node_id: str, index: int) -> int:
    return position(node_id.encode() + struct.pack("<I", index))


class Ring:
    """`weights`: the weight of each node that is ACTIVE or SUSPECT, by its id."""

    def __init__(self, weights, virtual_nodes=16, replication=3):
        # Nodes at one position stand in the order of their ids, compared byte by byte.
        self.points = sorted(
            (virtual_node_position(node_id, index), node_id.encode(), node_id)
            for node_id, weight in weights.items()
            for index in range(min(weight * virtual_nodes, VIRTUAL_NODES_MAX)))
        self.positions = [point[0] for point in self.points]
        self.replication = replication

    def owners(self, key: str):
        """The nodes that hold the key, the primary first; fewer when there are no more."""
        found = []
        start = bisect.bisect_left(self.positions, key_position(key))
        for step in range(len(self.points)):
            node_id = self.points[(start + step) % len(self.points)][2]
            if node_id not in found:
                found.append(node_id)
            if len(found) == self.replication:
                break
        return found


def check(path):
    ring = None
    checked = 0
    for line in open(path, encoding="utf-8"):
        kind, *words = line.split()
        if kind == "ring":
            weights = dict(word.split("=") for word in words[2].split(","))
            ring = Ring({node_id: int(weight) for node_id, weight in weights.items()},
                        int(words[0]), int(words[1]))
            continue
        if kind == "key":
            is_now, expected = str(key_position(words[0])), words[1]
        elif kind == "virtual":
            is_now, expected = str(virtual_node_position(words[0], int(words[1]))), words[2]
        else:
            is_now, expected = ",".join(ring.owners(words[0])), words[1]
        if is_now != expected:
            sys.exit(f"{line.strip()}: this implementation says {is_now}")
        checked += 1
    print(f"{checked} vectors agree")


if __name__ == "__main__":
    check(sys.argv[1])
