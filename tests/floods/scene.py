"""One musterd, someone who asks it all the time, and what must hold of both whatever others send."""

import os
import pathlib
import re
import resource
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

import http2
from http2 import Connection, frame, message, request

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
FLOODER, PROBE = "127.0.0.3", "127.0.0.2"
REFUSED = 'coordinator_rate_limit_rejected_total{reason="calls"}'
FULL = 'coordinator_rate_limit_rejected_total{reason="connections"}'
SLOW = 'coordinator_rate_limit_rejected_total{reason="handshakes"}'
SLOW_SAYS = "a connection was closed: it was silent or slow before TLS and HTTP/2 were agreed, and others waited"
HEALTH = "/grpc.health.v1.Health/Check"
ANSWER_SECONDS_MAX = 1.0
MANY = 100_000
MUCH = message(b"\x0a\x01k")
# Sanitizers keep what was freed, and their programs are slow.
SANITIZED = b"__asan_init" in (BIN / "musterd").read_bytes() or b"__tsan_init" in (BIN / "musterd").read_bytes()


class Server:
    """One musterd; its ports are its own choice, and told on standard output."""

    def __init__(self, folder, options, tls=None):
        self.tls = tls
        self.log = folder / "log"
        self.errors = self.log.open("w", encoding="utf-8")
        self.process = subprocess.Popen(
            [BIN / "musterd", "--id", "s1", "--engine", f"file://{folder}/store", "--listen", "127.0.0.1:0",
             "--http-listen", "127.0.0.1:0", *options],
            stdout=subprocess.PIPE, stderr=self.errors, text=True)
        told = self.process.stdout.readline() + self.process.stdout.readline()
        where = re.search(r"gRPC on (\S+).*page and metrics on (\S+?)/?\n", told, re.S)
        if not where:
            self.end()
            raise AssertionError(f"it did not start: {self.text()}")
        self.address, self.http = where.groups()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()

    def text(self):
        return self.log.read_text(encoding="utf-8")

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024

    def metrics(self):
        with self.fetch("/metrics") as answer:
            return answer.read().decode()

    def fetch(self, path):
        return urllib.request.urlopen(self.http + path, timeout=20, context=self.tls)

    def metric(self, name):
        return sum(float(value) for value in re.findall(rf"^{re.escape(name)} (\S+)$", self.metrics(), re.M))

    def cut(self, limit):
        return self.metric(f'muster_connections_cut_total{{limit="{limit}"}}')


class Probe(threading.Thread):
    """Someone else, who asks all the time; and the memory of the server meanwhile."""

    def __init__(self, server, tls):
        super().__init__()
        self.server = server
        self.tls = tls
        self.stopped = threading.Event()
        self.begun = threading.Event()
        self.before = self.most = server.memory()
        self.slowest_call = 0  # On a connection that stands.
        self.slowest = 0  # The same, and one on a new connection, and one of HTTP.
        self.trouble = None
        self.calls = 0

    def run(self):
        try:
            with_calls = Connection(self.server.address, PROBE, tls=self.tls)
            while not self.stopped.is_set():
                begun = time.monotonic()
                data, _ = with_calls.call(HEALTH)
                assert data == message(b"\x08\x01"), data
                self.slowest_call = max(self.slowest_call, time.monotonic() - begun)
                fresh = Connection(self.server.address, PROBE, tls=self.tls)
                fresh.call(HEALTH)
                fresh.close()
                self.server.fetch("/healthz").close()
                self.slowest = max(self.slowest, time.monotonic() - begun)
                self.most = max(self.most, self.server.memory())
                self.calls += 1
                self.begun.set()
                self.stopped.wait(0.005)
            with_calls.close()
        except Exception as error:  # Told by the test.
            self.trouble = error
            self.begun.set()

    def end(self):
        self.stopped.set()
        self.join()
        return self


class Scene(unittest.TestCase):
    tls = None  # How others show who they are, and how the flooder does.
    flooders_tls = None
    name = FLOODER
    memory_max = 64 << 20

    @classmethod
    def start(cls, _):
        return ["--insecure"]

    @classmethod
    def setUpClass(cls):
        # In memory: a disk that is busy with other things costs the server its lease, and floods shall not.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        cls.directory = tempfile.TemporaryDirectory(prefix="muster-floods-", dir=memory)
        folder = pathlib.Path(cls.directory.name)
        options = cls.start(folder)
        cls.server = Server(folder, options, cls.tls)
        end = time.monotonic() + 60
        while cls.server.metric('muster_raft_role{role="leader"}') != 1:
            assert time.monotonic() < end, cls.server.text()
            time.sleep(0.05)

    @classmethod
    def tearDownClass(cls):
        cls.server.end()
        cls.directory.cleanup()

    def setUp(self):
        self.term = self.server.metric("muster_raft_term")
        self.probe = Probe(self.server, self.grpc_tls())
        self.probe.start()
        self.probe.begun.wait()

    def tearDown(self):
        probe = self.probe.end()
        self.assertIsNone(probe.trouble, self.server.text())
        self.assertGreater(probe.calls, 0)
        self.assertEqual(self.server.metric("muster_raft_term"), self.term)
        self.assertEqual(self.server.metric('muster_raft_role{role="leader"}'), 1)
        print(f"{self.id().rsplit('.', 1)[1]}: memory +{(probe.most - probe.before) / 2**20:.1f} MB, "
              f"slowest call of others {probe.slowest_call * 1000:.0f} ms, on new connections "
              f"{probe.slowest * 1000:.0f} ms")
        if not SANITIZED:
            self.assertLess(probe.most - probe.before, self.memory_max)
            self.assertLess(probe.slowest_call, ANSWER_SECONDS_MAX)
            self.assertLess(probe.slowest, ANSWER_SECONDS_MAX)

    @classmethod
    def grpc_tls(cls):
        return None

    def flood(self, limit, chunks, settings=b""):
        """Ends with the flooder cut off and named."""
        before = self.server.cut(limit)
        Connection(self.server.address, FLOODER, settings, self.flooders_tls).flood(chunks)
        self.eventually(lambda: self.server.cut(limit) > before)
        named = f"a connection was closed client={self.name} remote={FLOODER} limit={limit}"
        self.eventually(lambda: named in self.server.text())

    def eventually(self, holds, within=20):
        end = time.monotonic() + within
        while not holds():
            self.assertLess(time.monotonic(), end, self.server.text())
            time.sleep(0.02)

    def connect_from_thousands_of_hosts(self, seconds=4):
        """Connections without a byte, each from an address of its own."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        host, port = self.server.address.rsplit(":", 1)
        for i in range(min(4000, hard - 500)):
            silent = socket.socket()
            self.addCleanup(silent.close)
            silent.setblocking(False)
            silent.bind((f"127.1.{i // 250}.{2 + i % 250}", 0))
            silent.connect_ex((host, int(port)))
        calls = self.probe.calls
        self.eventually(lambda: self.server.metric(SLOW) >= 60)
        self.eventually(lambda: f"{SLOW_SAYS} remote=127.1." in self.server.text())
        end = time.monotonic() + seconds
        self.eventually(lambda: time.monotonic() > end)
        self.assertGreater(self.probe.calls, calls + 10)

    def put_much(self, tls):
        """240 KB, which a request of MUCH answers with."""
        writer = Connection(self.server.address, PROBE, tls=tls)
        value = b"\x12\x80\x80\x0f" + bytes(15 << 14)  # The second field of a put.
        stream = writer.stream()
        body = message(b"\x0a\x01k" + value)
        writer.send(frame(http2.HEADERS, http2.END_HEADERS, stream, request("/muster.v1.StoreService/Put")))
        for i in range(0, len(body), 16_000):
            last = i + 16_000 >= len(body)
            writer.send(frame(http2.DATA, http2.END_STREAM if last else 0, stream, body[i:i + 16_000]))
        while True:
            _, flags, where, _ = writer.receive()
            if where == stream and flags & http2.END_STREAM:
                break
        writer.close()

    def rapid_reset(self, kind=http2.RST_STREAM, content=struct.pack(">I", 8)):
        """Streams, each with a frame that ends it at once."""
        head = request(HEALTH)
        self.flood("resets", (
            b"".join(frame(http2.HEADERS, http2.END_HEADERS, stream, head) + frame(kind, 0, stream, content)
                     for stream in range(first, first + 2000, 2))
            for first in range(1, 2 * MANY, 2000)))


class TlsScene(Scene):
    """With certificates: a client is named by its own."""
    name = '"reader flooder"'
    others = ()  # Who may flood together with that one.

    @classmethod
    def start(cls, folder):
        cls.folder = folder
        pki = folder / "pki"

        def certs(*words):
            subprocess.run([BIN / "muster", "certs", words[0], "--dir", pki, *words[1:]], check=True,
                           stdout=subprocess.DEVNULL)

        def context(who):
            found = ssl.create_default_context(cafile=pki / "ca.crt")
            found.load_cert_chain(pki / f"{who}.crt", pki / f"{who}.key")
            return found

        certs("init")
        certs("issue", "--role", "server", "--id", "s1", "--san", "127.0.0.1")
        certs("issue", "--role", "admin", "--id", "op")
        for who in ("ann", "flooder", *cls.others):
            certs("issue", "--role", "reader", "--id", who)
        cls.tls, cls.flooders_tls = context("ann"), context("flooder")
        cls.calls_tls = context("ann")
        cls.operators_tls = context("op")
        cls.others_tls = [context(each) for each in cls.others]
        for each in (cls.flooders_tls, cls.calls_tls, cls.operators_tls, *cls.others_tls):
            each.set_alpn_protocols(["h2"])
        return ["--cert", pki / "s1.crt", "--key", pki / "s1.key", "--cacert", pki / "ca.crt", "--data-dir",
                folder / "data"]

    @classmethod
    def grpc_tls(cls):
        return cls.calls_tls
