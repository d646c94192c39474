#!/usr/bin/env python3
"""A node of a Muster topology in Python: registers, sends heartbeats, follows the topology.

usage: PYTHONPATH=build/examples/python python3 node.py SERVER ID ADDRESS PORT

Needs python3-grpcio and python3-protobuf; the build makes the stubs from proto/muster/v1. It asks one
server; servers pass on to their leader what is the leader's. Ends in order on SIGTERM and SIGINT.
"""
import signal
import sys
import threading
import uuid

import grpc
from muster.v1 import coordinator_pb2 as pb
from muster.v1 import coordinator_pb2_grpc as rpc

HEARTBEAT_SECONDS = 1
stopping = threading.Event()


def say(*words):
    print(*words, flush=True)


def follow(stub):
    """Prints every change, and goes on where it stood when a stream breaks."""
    version = 0
    while not stopping.is_set():
        try:
            for update in stub.WatchTopology(pb.WatchTopologyRequest(since_version=version)):
                kind = update.WhichOneof("update")
                if kind == "full_sync":
                    version = update.version
                elif kind not in ("keepalive", "lagged"):
                    if update.previous_version != version:
                        version = 0  # A gap: the next stream begins with everything.
                        break
                    version = update.version
                node = getattr(update, kind) if kind and kind.startswith("node_") else None
                state = pb.NodeState.Name(node.state).removeprefix("NODE_STATE_") if node else ""
                say(kind, version, node.id if node else "", state)
        except grpc.RpcError as error:
            if not stopping.wait(1):
                say("watch broke:", error.code().name)


def main(server, node_id, address, port):
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    channel = grpc.insecure_channel(server)
    stub = rpc.CoordinatorServiceStub(channel)
    generation = str(uuid.uuid4())
    node = pb.NodeInfo(id=node_id, address=address, port=int(port), type=pb.NODE_TYPE_OBJECT,
                       generation_id=generation)
    answer = stub.RegisterNode(pb.RegisterNodeRequest(node=node), timeout=10, wait_for_ready=True)
    say("registered", answer.topology_version)
    threading.Thread(target=follow, args=(stub,), daemon=True).start()
    beat = pb.HeartbeatRequest(node_id=node_id, generation_id=generation,
                               reported_state=pb.NODE_STATE_ACTIVE)
    while True:
        try:
            stub.Heartbeat(beat, timeout=5)
        except grpc.RpcError as error:
            # Another process has this node's place, or its work has moved: it must not go on.
            if error.code() in (grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.NOT_FOUND):
                sys.exit(f"stopped: {error.details()}")
            say("heartbeat failed:", error.code().name)
        if stopping.wait(HEARTBEAT_SECONDS):
            break
    stub.DeregisterNode(
        pb.DeregisterNodeRequest(node_id=node_id, generation_id=generation), timeout=10)
    say("deregistered")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
