#!/usr/bin/env python3
"""Readers who ask a live server for much and take nothing of it, and what becomes of the others.

usage: untaken_test.py DIRECTORY_OF_PROGRAMS
"""
# Takes about two minutes: a server waits 30 s for those who take nothing.

import re
import struct
import time
import unittest

import http2
from http2 import Connection, frame, remembered, request
from scene import FLOODER, MUCH, REFUSED, TlsScene

CONNECTIONS, STREAMS, OTHERS = 20, 900, 10
FILL = 40
WINDOW = (1 << 31) - 1
OPEN = "muster_rpc_calls_open"
# As long as may be, and sent back percent-encoded it would be three times as long.
PATH = "/" + "%" * 3900
# A reader may call it, and it lasts.
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
LINES_MAX = 200


class Deaf:
    """A connection whose client takes nothing, and asks for more as long as anybody listens."""

    def __init__(self, server, tls):
        self.connection = Connection(server.address, FLOODER, struct.pack(">HI", http2.INITIAL_WINDOW_SIZE, WINDOW), tls,
                                     receive_buffer=4096)
        self.next = 1
        self.asked = None
        self.open = True

    def fill(self):
        """As many answers as the kernel takes, and one or two more."""
        self.send(frame(http2.WINDOW_UPDATE, 0, 0, struct.pack(">I", WINDOW - (1 << 16))))
        for _ in range(FILL):
            self.send(frame(http2.HEADERS, http2.END_HEADERS, self.next, request("/muster.v1.StoreService/Get")) +
                      frame(http2.DATA, http2.END_STREAM, self.next, MUCH))
            self.next += 2

    def send(self, data):
        try:
            if self.open:
                self.connection.send(data)
        except OSError:
            self.open = False
            self.connection.close()

    def ask(self, path, count, flags=http2.END_HEADERS | http2.END_STREAM):
        head, again = remembered(path)
        heads = b""
        for _ in range(count):
            heads += frame(http2.HEADERS, flags, self.next, again if self.asked == path else head)
            self.asked = path
            self.next += 2
        self.send(heads)

    def ping(self):
        self.send(frame(http2.PING, 0, 0, b"01234567"))

    def close(self):
        self.connection.close()


class UntakenTest(TlsScene):
    def deaf(self, tls):
        found = Deaf(self.server, tls)
        self.addCleanup(found.close)
        return found

    def filled(self, tls):
        found, before = self.deaf(tls), self.answered()
        found.fill()
        self.eventually(lambda: self.answered() >= before + FILL)
        return found

    def answered(self):
        metrics = self.server.metrics()
        return sum(float(value) for value in re.findall(r'^muster_rpc_requests_total{.*Get".*} (\S+)$', metrics, re.M))

    def setUp(self):
        self.put_much(self.operators_tls)
        super().setUp()

    def lines(self):
        return self.server.text().count("\n")

    def closed(self, deaf, within):
        """All of them are closed by the server, however often they ask whether it is there."""
        end = time.monotonic() + within
        while any(each.open for each in deaf):
            self.assertLess(time.monotonic(), end, f"{sum(each.open for each in deaf)} are open yet")
            for each in deaf:
                each.ping()
            time.sleep(0.5)

    # R36
    def test_refusals_of_methods_that_there_are_not(self):
        refused, lines = self.server.metric(REFUSED), self.lines()
        deaf = [self.filled(self.flooders_tls) for _ in range(3)]
        # They have as many places as anybody, and no more is open for them, whatever they ask for.
        while self.server.metric(REFUSED) < refused + 500:
            for each in deaf:
                each.ask(PATH, 50)
        self.assertGreaterEqual(self.server.metric(OPEN), 1000)
        self.assertLessEqual(self.server.metric(OPEN), 1000 + OTHERS)
        for _ in range(CONNECTIONS):
            more = self.deaf(self.flooders_tls)
            more.fill()
            more.ask(PATH, STREAMS)
        self.assertLessEqual(self.server.metric(OPEN), 1000 + OTHERS)
        self.closed(deaf, 45)
        self.assertGreaterEqual(self.server.cut("untaken"), len(deaf))
        self.eventually(lambda: self.server.metric(OPEN) <= OTHERS)
        named = f"a connection was closed client={self.name} remote={FLOODER} limit=untaken"
        self.assertIn(named, self.server.text())
        self.assertLess(self.lines(), lines + LINES_MAX)


    # R36: 39 MB on their way took 200 MB here.
    def test_empty_messages_that_nobody_reads(self):
        refused = self.server.metric(REFUSED)
        deaf = self.deaf(self.flooders_tls)
        for _ in range(60):
            stream = deaf.next
            deaf.ask(REFLECTION, 1, http2.END_HEADERS)
            for _ in range(40):
                deaf.send(frame(http2.DATA, 0, stream, bytes(5 * 3276)))
        self.eventually(lambda: not deaf.open or self.server.metric(REFUSED) > refused)


class TogetherTest(UntakenTest):
    """Several readers at once hold no more than all clients may."""
    others = tuple(f"other{i}" for i in range(5))
    memory_max = (288 + 64) << 20

    test_empty_messages_that_nobody_reads = None

    def test_refusals_of_methods_that_there_are_not(self):
        everybody = [self.flooders_tls, *self.others_tls]
        deaf = [self.filled(tls) for tls in everybody]
        for each in deaf:
            each.ask(PATH, STREAMS)
        for tls in everybody * 7:
            more = self.deaf(tls)
            more.fill()
            more.ask(PATH, STREAMS)
        self.closed(deaf, 45)
        self.eventually(lambda: self.server.metric(OPEN) <= OTHERS)


if __name__ == "__main__":
    unittest.main(verbosity=1)
