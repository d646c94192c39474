#!/usr/bin/env python3
"""A node of a Muster topology in Python: registers, sends heartbeats, follows the topology.

usage: PYTHONPATH=build/examples/python python3 node.py SERVER ID ADDRESS PORT

Needs python3-grpcio and python3-protobuf; the build makes the stubs from proto/muster/v1. It asks one
server; servers forward requests to their leader. Stops cleanly on SIGTERM and SIGINT.
"""
import signal
import sys
import threading
import time
import uuid

import grpc
from muster.v1 import coordinator_pb2 as pb
from muster.v1 import coordinator_pb2_grpc as rpc

HEARTBEAT_SECONDS = 10  # As often as servers expect by default; their limits allow 10 a minute.
stopping = threading.Event()


def say(*words):
    print(*words, flush=True)


def answered(error):
    """Whether a server refused. If not, the network failed, and a write may have happened."""
    return any(key == "muster-server" for key, _ in error.trailing_metadata() or ())


def settle(method, request, done=(), patience=60):
    """Repeats a request that does no harm when it is done twice, until a server has said yes or no.

    `done`: what a server answers when an attempt before was done after all."""
    limit = time.monotonic() + patience
    doubtful = False
    while True:
        try:
            return method(request, timeout=10)
        except grpc.RpcError as error:
            if doubtful and error.code() in done:
                return None
            doubtful |= not answered(error)
            passing = not answered(error) or error.code() == grpc.StatusCode.UNAVAILABLE
            if not passing or time.monotonic() > limit:
                raise
            time.sleep(0.5)


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
    answer = settle(stub.RegisterNode, pb.RegisterNodeRequest(node=node))
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
            say("heartbeat failed:", error.code().name)  # The next one makes up for it.
        if stopping.wait(HEARTBEAT_SECONDS):
            break
    settle(stub.DeregisterNode,
           pb.DeregisterNodeRequest(node_id=node_id, generation_id=generation),
           done=(grpc.StatusCode.NOT_FOUND,))
    say("deregistered")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
