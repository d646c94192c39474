#!/usr/bin/env python3
"""Runs the examples in other languages against a real musterd: register, heartbeat, watch."""
# Takes about 9 s: a real musterd starts for each language, and npm installs gRPC first where it is missing.
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAMS = pathlib.Path(sys.argv[1])
SOURCE = pathlib.Path(sys.argv[2])
BUILD = pathlib.Path(sys.argv[3])
# Debian's own, which has Debian's python3-grpcio; the first one in PATH may be another.
PYTHON = "/usr/bin/python3"


class Child:
    """A running program whose lines can be waited for."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen([str(word) for word in command], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
        self.lines = queue.Queue()
        self.seen = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip())

    def await_line(self, pattern, seconds=30):
        limit = time.monotonic() + seconds
        while (left := limit - time.monotonic()) > 0:
            try:
                line = self.lines.get(timeout=left)
            except queue.Empty:
                break
            self.seen.append(line)
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"no line like {pattern!r} in {self.seen}")

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=30)
        self.reader.join()
        self.process.stdout.close()
        return code


class LanguagesTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.server = "127.0.0.1:0"
        self.start_server()

    def start_server(self):
        """At the same address as before, with the limits that it has unless told otherwise."""
        self.musterd = Child([PROGRAMS / "musterd", "--engine",
                              f"file://{self.directory.name}/store", "--id", "s1", "--insecure",
                              "--listen", self.server, "--data-dir", self.directory.name])
        self.addCleanup(self.musterd.end)
        self.server = self.musterd.await_line(r"gRPC on (\S+)")[1]
        self.musterd.await_line("leading")

    def lives_a_life(self, command, **more):
        node = Child([*command, self.server, "n1", "10.0.0.1", "7000"], **more)
        self.addCleanup(node.end)
        node.await_line(r"^registered 1$")
        node.await_line(r"^full_sync 1")
        node.await_line(r"^node_updated 2 n1 ACTIVE$")
        shown = subprocess.run([PROGRAMS / "muster", "nodes", "--server", self.server],
                               capture_output=True, text=True, check=True).stdout
        self.assertRegex(shown, r"n1 +object +ACTIVE")
        # It leaves while its server is away: what it asked for may have been done or not, so it asks again.
        self.musterd.process.kill()
        self.musterd.end()
        node.process.send_signal(signal.SIGTERM)
        self.start_server()
        self.assertEqual(node.end(), 0)
        left = subprocess.run([PROGRAMS / "muster", "nodes", "--server", self.server],
                              capture_output=True, text=True, check=False)
        self.assertEqual(left.returncode, 1, left.stdout)

    def test_heartbeats_are_no_faster_than_the_default_limits_allow(self):
        options = subprocess.run([PROGRAMS / "musterd", "--help"], capture_output=True, text=True, check=True)
        per_minute = int(re.search(r"--limits-heartbeat RATE .*default: (\d+):", options.stdout)[1])
        python = (SOURCE / "examples/python/node.py").read_text()
        node = (SOURCE / "examples/node/node.js").read_text()
        seconds = [int(re.search(r"HEARTBEAT_SECONDS = (\d+)", python)[1]),
                   int(re.search(r"HEARTBEAT_MS = (\d+)", node)[1]) / 1000]
        for each in seconds:
            self.assertLessEqual(60 / each, per_minute)

    def test_python(self):
        self.lives_a_life([PYTHON, SOURCE / "examples/python/node.py"],
                          env={**os.environ, "PYTHONPATH": str(BUILD / "examples/python")})

    def test_node(self):
        modules = BUILD / "npm-grpc"
        for package in ("@grpc/grpc-js 1.14.7", "@grpc/proto-loader 0.8.1"):
            install = [SOURCE / "tools/testing/npm_install.sh", modules, *package.split()]
            run = subprocess.run(install, capture_output=True, text=True, check=False)
            if run.returncode != 0:
                print(f"\nNOT RUN: the example in JavaScript: {run.stderr.strip()}", file=sys.stderr)
                self.skipTest(run.stderr.strip())
        self.lives_a_life(["node", SOURCE / "examples/node/node.js"],
                          env={**os.environ, "NODE_PATH": str(modules / "node_modules")})


unittest.main(argv=sys.argv[:1], verbosity=2)
