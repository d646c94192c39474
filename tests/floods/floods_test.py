#!/usr/bin/env python3
"""Floods a live server as the least of its clients could, by hand-made HTTP/2, and looks what becomes of the others.

usage: floods_test.py DIRECTORY_OF_PROGRAMS
"""
# Takes about 20 s: each flood is followed for as long as the server takes to end it.

import gzip
import os
import socket
import ssl
import struct
import subprocess
import time
import unittest

import http2
from http2 import Connection, frame, literal, message, request
from scene import BIN, FLOODER, FULL, HEALTH, MANY, MUCH, REFUSED, SANITIZED, SLOW, SLOW_SAYS, Scene, TlsScene


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

    def test_frames_of_a_type_that_nobody_knows(self):
        self.flood("empty-frames", [frame(0x42, 0, 0) * 1500] * 100)

    def test_padding_without_data(self):
        self.flood("empty-frames", [frame(http2.HEADERS, http2.END_HEADERS, 1, request(HEALTH)),
                                    *[frame(http2.DATA, http2.PADDED, 1, b"\x0f" + bytes(15)) * 1000] * 100])

    def test_echoes_that_nobody_asked_for(self):
        self.flood("empty-frames", [frame(http2.PING, http2.ACK, 0, b"winddown") * 1000] * 100)

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
        self.put_much(None)
        refused = self.server.metric(REFUSED)
        head = request("/muster.v1.StoreService/Get")
        flooders = []
        for _ in range(4):
            flooder = Connection(self.server.address, FLOODER, struct.pack(">HI", http2.INITIAL_WINDOW_SIZE, 0))
            for _ in range(200):
                stream = flooder.stream()
                flooder.send(frame(http2.HEADERS, http2.END_HEADERS, stream, head) +
                             frame(http2.DATA, http2.END_STREAM, stream, MUCH))
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
        self.eventually(lambda: self.server.metric(SLOW) >= 60)
        self.eventually(lambda: f"{SLOW_SAYS} remote={FLOODER}" in self.server.text())

    # R47
    def test_silent_connections_of_the_same_host(self):
        where = tuple(self.server.address.rsplit(":", 1))
        for _ in range(600):
            silent = socket.create_connection(where, source_address=(FLOODER, 0))
            self.addCleanup(silent.close)
        begun = time.monotonic()
        client = Connection(self.server.address, FLOODER)
        client.call(HEALTH)
        client.close()
        if not SANITIZED:
            self.assertLess(time.monotonic() - begun, 2)


class SilenceTest(Scene):
    # R47
    def test_silent_connections_of_thousands_of_hosts(self):
        self.connect_from_thousands_of_hosts()


class TlsSilenceTest(TlsScene):
    # R47
    def test_silent_connections_of_thousands_of_hosts(self):
        self.connect_from_thousands_of_hosts()


class FullTest(TlsScene):
    """A server that accepts 40 connections, and so 10 of each client."""
    others = ("b", "c", "d")

    @classmethod
    def start(cls, folder):
        return [*super().start(folder), "--limits-connections", "40"]

    def take_all(self, tls):
        """As many connections as it gets."""
        held = []
        for _ in range(15):
            connection = Connection(self.server.address, FLOODER, tls=tls)
            self.addCleanup(connection.close)
            try:
                connection.call(HEALTH)
                held.append(connection)
            except OSError:
                pass
        return len(held)

    def health(self, who):
        pki = self.folder / "pki"
        return subprocess.run(
            [BIN / "muster", "health", "--server", self.server.address, "--cacert", pki / "ca.crt", "--cert",
             pki / f"{who}.crt", "--key", pki / f"{who}.key"], capture_output=True, text=True, timeout=60, check=False)

    # R48
    def test_a_client_that_takes_every_connection(self):
        self.assertEqual(self.take_all(self.flooders_tls), 10)
        self.assertGreaterEqual(self.server.metric(FULL), 5)
        named = f"a connection was refused client={self.name} remote={FLOODER} limit=connections"
        self.eventually(lambda: named in self.server.text())
        for tls in self.others_tls:
            self.assertGreaterEqual(self.take_all(tls), 4)
        refused = self.health("flooder")
        self.assertIn("refuses the connection: this client has as many connections open", refused.stderr)
        self.assertNotIn("remove --cacert", refused.stderr)
        for who in ("op", "ann"):
            found = self.health(who)
            self.assertEqual(found.returncode, 0, found.stderr)


class TlsFloodsTest(TlsScene):
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
        self.eventually(lambda: self.server.metric(SLOW) >= 60)
        self.eventually(lambda: f"{SLOW_SAYS} remote={FLOODER}" in self.server.text())


if __name__ == "__main__":
    unittest.main(verbosity=1)
