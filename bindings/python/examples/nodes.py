"""Registers a node, and prints which nodes hold a key.

usage: nodes.py SERVERS ID PORT KEY
"""
import sys

import muster

servers, node_id, port, key = sys.argv[1:]
with muster.Cluster(servers) as cluster:
    node = muster.Node(node_id, "127.0.0.1", int(port))
    with muster.Membership(cluster, node), muster.Directory(cluster) as directory:
        for owner in directory.owners(key):
            print(owner.id, f"{owner.address}:{owner.port}", flush=True)
