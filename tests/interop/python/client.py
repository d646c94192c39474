#!/usr/bin/env python3
"""Every kind of call, with Python's gRPC. The steps are those of ../interop_test.py.

usage: PYTHONPATH=STUBS client.py SERVER STANDBY [CA CERTIFICATE KEY]
"""
import pathlib
import sys
import threading
import time

import grpc
import health_pb2
import health_pb2_grpc
import reflection_pb2
import reflection_pb2_grpc
from muster.v1 import coordinator_pb2 as pb
from muster.v1 import coordinator_pb2_grpc
from muster.v1 import store_pb2
from muster.v1 import store_pb2_grpc

SERVER, STANDBY = sys.argv[1:3]
TLS = [pathlib.Path(name).read_bytes() for name in sys.argv[3:]]
SECONDS = 10  # What a call may take that is to be answered.
VALUE = bytes(250 * 1024)  # The store takes up to 256 KiB; 8 of these are a request of almost 2 MB.
GENERATION = "00000000-0000-4000-8000-00000000000"
failed = False


def open_channel(address, certificate=True):
    if not TLS:
        return grpc.insecure_channel(address)
    authority, chain, key = TLS
    shown = {"private_key": key, "certificate_chain": chain} if certificate else {}
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(authority, **shown))


channel = open_channel(SERVER)
coordinator = coordinator_pb2_grpc.CoordinatorServiceStub(channel)
store = store_pb2_grpc.StoreServiceStub(channel)
health = health_pb2_grpc.HealthStub(channel)


def step(name, act):
    """Prints "ok NAME", with what `act` returns behind it if it does."""
    global failed
    try:
        told = act()
        print("ok", name, *([told] if told else []), flush=True)
    except Exception as error:  # pylint: disable=broad-except
        failed = True
        print(f"failed {name}:", " ".join(repr(error).split()), flush=True)


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def refusal(act, code=None):
    """The error that `act` ends with."""
    try:
        act()
    except grpc.RpcError as error:
        expect(code in (None, error.code()), f"{error.code()} instead of {code}: {error.details()}")
        return error
    raise AssertionError("the call was not refused")


def trailer(error, key):
    return dict(error.trailing_metadata()).get(key)


def node(number):
    return pb.NodeInfo(id=f"n{number}", address="10.0.0.1", port=7000 + number, type=pb.NODE_TYPE_OBJECT,
                       generation_id=f"{GENERATION}{number}")


def beats(known):
    return pb.HeartbeatBatch(heartbeats=[pb.HeartbeatRequest(
        node_id="n1", known_version=known, generation_id=f"{GENERATION}1")])


def await_subscribers(count):
    limit = time.monotonic() + SECONDS
    while coordinator.HealthCheck(pb.HealthCheckRequest(), timeout=SECONDS).watch_subscribers != count:
        expect(time.monotonic() < limit, f"there are never {count} watches")
        time.sleep(0.02)


def unary():
    answer = coordinator.RegisterNode(pb.RegisterNodeRequest(node=node(1)))
    expect(answer.topology_version == 1, answer)
    seen = coordinator.GetTopology(pb.GetTopologyRequest(linearizable=True))
    expect([each.id for each in seen.object_nodes] == ["n1"], seen)


def deadline_met():
    coordinator.HealthCheck(pb.HealthCheckRequest(), timeout=SECONDS)


def server_stream():
    watch = coordinator.WatchTopology(pb.WatchTopologyRequest(), timeout=SECONDS)
    first = next(watch)
    expect(first.WhichOneof("update") == "full_sync", first)
    coordinator.RegisterNode(pb.RegisterNodeRequest(node=node(2)), timeout=SECONDS)
    change = next(watch)
    expect(change.WhichOneof("update") == "node_added" and change.node_added.id == "n2", change)
    watch.cancel()


def bidirectional_stream():
    """Each message waits for the answer to the one before."""
    turn = threading.Semaphore(1)

    def messages():
        for number in range(3):
            turn.acquire()
            yield beats(number)

    answers = 0
    for answer in coordinator.HeartbeatStream(messages(), timeout=SECONDS):
        expect(answer.leader_id == "s1" and not answer.refused, answer)
        answers += 1
        turn.release()
    expect(answers == 3, answers)


def half_close():
    """Everything is sent and the request ended before an answer is read."""
    answers = list(coordinator.HeartbeatStream(iter([beats(0)] * 100), timeout=SECONDS))
    expect(len(answers) == 100, len(answers))


def cancellation():
    watch = coordinator.WatchTopology(pb.WatchTopologyRequest())
    next(watch)
    await_subscribers(1)
    watch.cancel()
    refusal(lambda: next(watch), grpc.StatusCode.CANCELLED)
    await_subscribers(0)


def deadline_exceeded():
    watch = coordinator.WatchTopology(pb.WatchTopologyRequest(), timeout=0.3)
    refusal(lambda: list(watch), grpc.StatusCode.DEADLINE_EXCEEDED)
    await_subscribers(0)


def metadata():
    """About 6 KB, any byte in one of them; and the name of the request, which the server logs."""
    many = [(f"x-interop-{number}", "v" * 60) for number in range(45)]
    store.Put(store_pb2.StorePutRequest(key="metadata"), timeout=SECONDS,
              metadata=[*many, ("x-interop-bin", bytes(range(256))),
                        ("muster-request-id", "interop-request")])


def metadata_over_limit():
    error = refusal(lambda: coordinator.HealthCheck(
        pb.HealthCheckRequest(), timeout=SECONDS, metadata=[("x-interop", "v" * 12000)]))
    deadline_met()
    return error.code().name


def puts(count):
    return store_pb2.StorePutBatch(puts=[
        store_pb2.StorePutRequest(key=f"large/{number}", value=VALUE) for number in range(count)])


def large_request():
    outcomes = [each for answer in store.PutStream(iter([puts(8)]), timeout=SECONDS)
                for each in answer.outcomes]
    expect([each.code for each in outcomes] == [0] * 8, outcomes)


def large_answer():
    seen, after = [], ""
    while True:
        page = store.List(store_pb2.StoreListRequest(prefix="large/", after=after, with_values=True),
                          timeout=SECONDS)
        seen += [each.value for each in page.objects]
        if not page.more:
            break
        after = page.objects[-1].key
    expect(seen == [VALUE] * 8, len(seen))


def too_large_request():
    refusal(lambda: list(store.PutStream(iter([puts(9)]), timeout=SECONDS)),
            grpc.StatusCode.RESOURCE_EXHAUSTED)
    deadline_met()


def compressed_request():
    error = refusal(lambda: store.Put(store_pb2.StorePutRequest(key="gzip", value=VALUE),
                                      compression=grpc.Compression.Gzip, timeout=SECONDS),
                    grpc.StatusCode.UNIMPLEMENTED)
    expect("identity" in error.details(), error)


def not_found():
    error = refusal(lambda: store.Get(store_pb2.StoreGetRequest(key="no/such"), timeout=SECONDS),
                    grpc.StatusCode.NOT_FOUND)
    expect(trailer(error, "muster-server") == "s1" and error.details(), error)


def invalid_argument():
    wrong = node(1)
    wrong.id = "100% wrong"
    error = refusal(lambda: coordinator.RegisterNode(pb.RegisterNodeRequest(node=wrong), timeout=SECONDS),
                    grpc.StatusCode.INVALID_ARGUMENT)
    expect('node id "100% wrong" must be' in error.details(), error)


def leader_address():
    with open_channel(STANDBY) as standby:
        stub = store_pb2_grpc.StoreServiceStub(standby)
        error = refusal(lambda: list(stub.PutStream(iter([puts(1)]), timeout=SECONDS)),
                        grpc.StatusCode.FAILED_PRECONDITION)
        expect(trailer(error, "leader-address") == SERVER, error)
        expect(trailer(error, "muster-server") == "s2", error)


def call_anything(method):
    refusal(lambda: channel.unary_unary(method)(b"", timeout=SECONDS), grpc.StatusCode.UNIMPLEMENTED)


def health_check():
    answer = health.Check(health_pb2.HealthCheckRequest(), timeout=SECONDS)
    expect(answer.status == health_pb2.HealthCheckResponse.SERVING, answer)
    refusal(lambda: health.Check(health_pb2.HealthCheckRequest(service="no.such"), timeout=SECONDS),
            grpc.StatusCode.NOT_FOUND)


def health_watch():
    watch = health.Watch(health_pb2.HealthCheckRequest(service="muster.v1.StoreService"), timeout=SECONDS)
    first = next(watch)
    expect(first.status == health_pb2.HealthCheckResponse.SERVING, first)
    watch.cancel()


def reflection():
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    services, file = stub.ServerReflectionInfo(iter([
        reflection_pb2.ServerReflectionRequest(list_services="*"),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="muster.v1.StoreService")]),
        timeout=SECONDS)
    names = [each.name for each in services.list_services_response.service]
    expect("muster.v1.CoordinatorService" in names, names)
    files = file.file_descriptor_response.file_descriptor_proto
    expect(any(b"muster/v1/store.proto" in each for each in files), file)


def concurrent_calls():
    """More than the 1,000 streams that a connection takes at once: the others wait here."""
    calls = [coordinator.HealthCheck.future(pb.HealthCheckRequest(), timeout=SECONDS) for _ in range(1200)]
    for call in calls:
        call.result()


def without_certificate():
    with open_channel(SERVER, certificate=False) as stranger:
        stub = coordinator_pb2_grpc.CoordinatorServiceStub(stranger)
        refusal(lambda: stub.HealthCheck(pb.HealthCheckRequest(), timeout=SECONDS),
                grpc.StatusCode.UNAVAILABLE)


def stream_ends_with_server():
    """The test restarts the server when it reads "restart"."""
    watch = coordinator.WatchTopology(pb.WatchTopologyRequest())
    next(watch)
    print("restart", flush=True)
    refusal(lambda: list(watch), grpc.StatusCode.UNAVAILABLE)


def goes_on_after_restart():
    """On the same channel. A server that stops or starts answers UNAVAILABLE: nothing was changed."""
    limit = time.monotonic() + 2 * SECONDS
    while True:
        try:
            store.Put(store_pb2.StorePutRequest(key="after"), timeout=2 * SECONDS, wait_for_ready=True)
            return
        except grpc.RpcError as error:
            expect(error.code() == grpc.StatusCode.UNAVAILABLE and time.monotonic() < limit, error)
        time.sleep(0.05)


for each in (unary, deadline_met, server_stream, bidirectional_stream, half_close, cancellation,
             deadline_exceeded, metadata, metadata_over_limit, large_request, large_answer, too_large_request,
             compressed_request, not_found, invalid_argument, leader_address):
    step(each.__name__, each)
step("unknown_method", lambda: call_anything("/muster.v1.StoreService/NoSuch"))
step("unknown_service", lambda: call_anything("/no.such.Service/Get"))
for each in (health_check, health_watch, reflection, concurrent_calls):
    step(each.__name__, each)
if TLS:
    step("without_certificate", without_certificate)
step("stream_ends_with_server", stream_ends_with_server)
step("goes_on_after_restart", goes_on_after_restart)
sys.exit(failed)
