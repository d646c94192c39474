#!/usr/bin/env python3
"""Floods a live server as the least of its clients could, by hand-made HTTP/2, and looks what becomes of the others.

usage: floods_test.py DIRECTORY_OF_PROGRAMS
"""
# Takes about 20 s: each flood is followed for as long as the server takes to end it.

import gzip
import os
import pathlib
import re
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
from http2 import Connection, frame, literal, message, request

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
FLOODER, PROBE = "127.0.0.3", "127.0.0.2"
REFUSED = 'coordinator_rate_limit_rejected_total{reason="calls"}'
HEALTH = "/grpc.health.v1.Health/Check"
MEMORY_MAX = 64 << 20
ANSWER_SECONDS_MAX = 1.0
MANY = 100_000
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
    """Somebody else, who asks all the time; and the memory of the server meanwhile."""

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

    @classmethod
    def start(cls, _):
        return ["--insecure"]

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="muster-floods-")
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
        self.assertIsNone(probe.trouble)
        self.assertGreater(probe.calls, 0)
        self.assertEqual(self.server.metric("muster_raft_term"), self.term)
        self.assertEqual(self.server.metric('muster_raft_role{role="leader"}'), 1)
        print(f"{self.id().rsplit('.', 1)[1]}: memory +{(probe.most - probe.before) / 2**20:.1f} MB, "
              f"slowest call of others {probe.slowest_call * 1000:.0f} ms, on new connections "
              f"{probe.slowest * 1000:.0f} ms")
        if not SANITIZED:
            self.assertLess(probe.most - probe.before, MEMORY_MAX)
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
        named = f"a connection was cut client={self.name} remote={FLOODER} limit={limit}"
        self.eventually(lambda: named in self.server.text())

    def eventually(self, holds):
        end = time.monotonic() + 20
        while not holds():
            self.assertLess(time.monotonic(), end, self.server.text())
            time.sleep(0.02)

    def rapid_reset(self, kind=http2.RST_STREAM, content=struct.pack(">I", 8)):
        """Streams, each with a frame that ends it at once."""
        head = request(HEALTH)
        self.flood("resets", (
            b"".join(frame(http2.HEADERS, http2.END_HEADERS, stream, head) + frame(kind, 0, stream, content)
                     for stream in range(first, first + 2000, 2))
            for first in range(1, 2 * MANY, 2000)))


class FloodsTest(Scene):
    # R33
    def test_streams_that_are_opened_and_reset(self):
        self.rapid_reset()

    # Resets that the server is made to send count like those of the client: MadeYouReset.
    def test_streams_that_the_server_is_made_to_reset(self):
        self.rapid_reset(http2.WINDOW_UPDATE, struct.pack(">I", 0x7FFFFFFF))

    # R34
    def test_headers_that_never_end(self):
        more = frame(http2.CONTINUATION, 0, 1, literal("a", "x" * 100) * 100)
        self.flood("protocol", [frame(http2.HEADERS, 0, 1, request(HEALTH)), *[more] * 1000])

    # R34
    def test_headers_that_are_short_and_mean_much(self):
        bomb = b"\x40" + literal("a", "x" * 250)[1:] + b"\xbe" * 10_000
        self.flood("headers", (frame(http2.HEADERS, http2.END_HEADERS, stream, request(HEALTH) + bomb)
                               for stream in range(1, 2000, 2)))

    # R34
    def test_numbers_in_headers_that_never_end(self):
        self.flood("protocol", [frame(http2.HEADERS, http2.END_HEADERS, 1, b"\xff" + b"\x80" * 16_000)])

    def test_headers_that_are_too_long_again_and_again(self):
        long = request(HEALTH) + literal("a", "x" * 250) * 40
        self.flood("headers", (frame(http2.HEADERS, http2.END_HEADERS, stream, long)
                               for stream in range(1, 20_001, 2)))

    def test_settings(self):
        self.flood("empty-frames", [frame(http2.SETTINGS, 0, 0) * 1000] * 100)

    def test_pings(self):
        self.flood("empty-frames", [frame(http2.PING, 0, 0, b"x" * 8) * 1000] * 100)

    def test_priorities(self):
        self.flood("empty-frames", (
            b"".join(frame(http2.PRIORITY, 0, stream, struct.pack(">IB", stream - 2 if stream > 1 else 0, 255))
                     for stream in range(first, first + 2000, 2)) for first in range(1, 2 * MANY, 2000)))

    def test_windows_that_open_a_little(self):
        self.flood("empty-frames", [frame(http2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 1)) * 1000] * 100)

    def test_data_without_any(self):
        self.flood("empty-frames", [frame(http2.HEADERS, http2.END_HEADERS, 1, request(HEALTH)),
                                    *[frame(http2.DATA, 0, 1) * 1000] * 100])

    def test_frames_that_are_too_long(self):
        self.flood("protocol", [b"\xff\xff\xff" + bytes([http2.DATA, 0]) + struct.pack(">I", 1), b"x" * (1 << 20)])

    def test_frames_that_are_none(self):
        self.flood("protocol", [os.urandom(1 << 16) for _ in range(16)])

    # R32: two megabytes that mean two gigabytes are never inflated.
    def test_a_bomb_of_gzip(self):
        bomb = message(gzip.compress(bytes(1 << 30), 9)[:(2 << 20) - 100], flag=1)
        for _ in range(20):
            connection = Connection(self.server.address, FLOODER)
            stream = connection.stream()
            connection.send(frame(http2.HEADERS, http2.END_HEADERS, stream,
                                  request("/muster.v1.StoreService/Put", [("grpc-encoding", "gzip")])))
            pieces = [bomb[i:i + 16_000] for i in range(0, len(bomb), 16_000)]
            for piece in pieces[:60]:
                connection.send(frame(http2.DATA, 0, stream, piece))
            answer = None
            while not answer:
                kind, flags, where, _ = connection.receive()
                answer = (kind, flags) if where == stream else None
            self.assertEqual(answer, (http2.HEADERS, http2.END_HEADERS | http2.END_STREAM))
            connection.close()

    # R36: answers that nobody takes, and requests that never become whole, are bounded by their bytes.
    def test_answers_that_nobody_takes(self):
        writer = Connection(self.server.address, PROBE)
        value = b"\x12\x80\x80\x0f" + bytes(15 << 14)  # The second field of a put: 240 KB.
        stream = writer.stream()
        body = message(b"\x0a\x01k" + value)
        writer.send(frame(http2.HEADERS, http2.END_HEADERS, stream, request("/muster.v1.StoreService/Put")))
        for i in range(0, len(body), 16_000):
            last = i + 16_000 >= len(body)
            writer.send(frame(http2.DATA, http2.END_STREAM if last else 0, stream, body[i:i + 16_000]))
        while True:
            kind, flags, where, _ = writer.receive()
            if where == stream and kind == http2.HEADERS and flags & http2.END_STREAM:
                break
        self.assertEqual(kind, http2.HEADERS)
        writer.close()
        refused = self.server.metric(REFUSED)
        get = message(b"\x0a\x01k")
        head = request("/muster.v1.StoreService/Get")
        flooders = []
        for _ in range(4):
            flooder = Connection(self.server.address, FLOODER, struct.pack(">HI", http2.INITIAL_WINDOW_SIZE, 0))
            for _ in range(200):
                stream = flooder.stream()
                flooder.send(frame(http2.HEADERS, http2.END_HEADERS, stream, head) +
                             frame(http2.DATA, http2.END_STREAM, stream, get))
            flooders.append(flooder)
        # 800 answers of 240 KB, of which 32 MB are kept.
        self.eventually(lambda: self.server.metric(REFUSED) > refused + 600)
        for flooder in flooders:
            flooder.close()

    def test_requests_that_never_become_whole(self):
        refused = self.server.metric(REFUSED)
        head = request("/muster.v1.StoreService/Put")
        flooder = Connection(self.server.address, FLOODER)
        try:
            part = (bytes([0]) + struct.pack(">I", 2_000_000) + bytes(400_000))
            for _ in range(200):
                stream = flooder.stream()
                flooder.send(frame(http2.HEADERS, http2.END_HEADERS, stream, head))
                for i in range(0, len(part), 16_000):
                    flooder.send(frame(http2.DATA, 0, stream, part[i:i + 16_000]))
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.eventually(lambda: self.server.metric(REFUSED) > refused + 50)
        flooder.close()

    def test_connections_that_say_nothing(self):
        where = tuple(self.server.address.rsplit(":", 1))
        for i in range(1200):
            silent = socket.create_connection(where, source_address=(FLOODER, 0))
            self.addCleanup(silent.close)
            silent.send(http2.PREFACE[:i % 24])
        closed = 'coordinator_rate_limit_rejected_total{reason="connections"}'
        self.eventually(lambda: self.server.metric(closed) >= 60)


class TlsFloodsTest(Scene):
    """With certificates, whoever floods is named by its own."""
    name = '"reader flooder"'

    @classmethod
    def start(cls, folder):
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
        for who in ("ann", "flooder"):
            certs("issue", "--role", "reader", "--id", who)
        cls.tls, cls.flooders_tls = context("ann"), context("flooder")
        cls.calls_tls = context("ann")
        for each in (cls.flooders_tls, cls.calls_tls):
            each.set_alpn_protocols(["h2"])
        return ["--cert", pki / "s1.crt", "--key", pki / "s1.key", "--cacert", pki / "ca.crt", "--data-dir",
                folder / "data"]

    @classmethod
    def grpc_tls(cls):
        return cls.calls_tls

    # R33
    def test_streams_that_are_opened_and_reset(self):
        self.rapid_reset()

    def test_handshakes_that_never_end(self):
        hello = ssl.MemoryBIO()
        begun = self.flooders_tls.wrap_bio(ssl.MemoryBIO(), hello, server_hostname="127.0.0.1")
        with self.assertRaises(ssl.SSLWantReadError):
            begun.do_handshake()
        first = hello.read()
        where = tuple(self.server.address.rsplit(":", 1))
        for _ in range(1200):
            half_open = socket.create_connection(where, source_address=(FLOODER, 0))
            self.addCleanup(half_open.close)
            half_open.send(first)
        closed = 'coordinator_rate_limit_rejected_total{reason="connections"}'
        self.eventually(lambda: self.server.metric(closed) >= 60)


if __name__ == "__main__":
    unittest.main(verbosity=1)
