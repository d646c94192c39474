#!/usr/bin/env python3
"""A client that nobody here wrote does every kind of call against a real musterd, in plaintext and with TLS.

The program of each language takes the address of a leader, that of a standby and, for TLS, three files. It
prints one line for each step, and all of them the same ones. It prints "restart" when the leader is to be
stopped cleanly and started again. grpcurl, which is not in Debian, would add nothing: it is Go's client.

usage: interop_test.py LANGUAGE DIRECTORY_OF_PROGRAMS SOURCE BUILD
"""
# Takes 5 to 20 s: two servers start twice, once for plaintext and once for TLS, and one of them is restarted.
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

LANGUAGE = sys.argv[1]
PROGRAMS, SOURCE, BUILD = map(pathlib.Path, sys.argv[2:5])
HERE = SOURCE / "tests/interop"
MADE = BUILD / "tests/interop"

STEPS = """unary deadline_met server_stream bidirectional_stream half_close cancellation deadline_exceeded
    metadata metadata_over_limit large_request large_answer too_large_request compressed_request not_found
    invalid_argument leader_address unknown_method unknown_service health_check health_watch reflection
    concurrent_calls stream_ends_with_server goes_on_after_restart""".split()
# These read the limit in the server's settings, do not send such a call and have a word of their own for it.
OVER_LIMIT = {"go": "INTERNAL", "java": "INTERNAL"}.get(LANGUAGE, "RESOURCE_EXHAUSTED")


class Child:
    """A running program whose lines can be waited for."""

    def __init__(self, command, stderr=subprocess.STDOUT, **more):
        self.process = subprocess.Popen([str(word) for word in command], text=True,
                                        stdout=subprocess.PIPE, stderr=stderr, **more)
        self.lines = queue.Queue()
        self.seen = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip())
        self.lines.put(None)

    def next_line(self, seconds=30):
        """None at the end."""
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"nothing for {seconds} s after {self.seen[-20:]}") from None
        self.seen.append(line)
        return line

    def await_line(self, pattern, seconds=30):
        limit = time.monotonic() + seconds
        while (line := self.next_line(max(0.01, limit - time.monotonic()))) is not None:
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"ended without a line like {pattern!r}: {self.seen[-20:]}")

    def rest(self):
        while self.next_line() is not None:
            pass
        return self.seen

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=30)
        self.reader.join()
        self.process.stdout.close()
        return code


def require(program, package):
    """A test without its client has not passed."""
    found = subprocess.run(["which", program], capture_output=True, text=True, check=False).stdout.strip()
    if not found:
        raise FileNotFoundError(f"{program} is missing: install {package}, or run ./dev setup")
    return found


def install_npm():
    modules = BUILD / "npm-grpc"
    for package in ("@grpc/grpc-js 1.14.7", "@grpc/proto-loader 0.8.1"):
        subprocess.run([SOURCE / "tools/testing/npm_install.sh", modules, *package.split()], check=True)
    return modules / "node_modules"


def client():
    """The command and the environment of this language's program."""
    if LANGUAGE == "python":
        # Debian's own, which has Debian's python3-grpcio; the first one in PATH may be another.
        return ["/usr/bin/python3", HERE / "python/client.py"], {"PYTHONPATH": MADE / "python"}
    if LANGUAGE == "node":
        return [require("node", "nodejs"), HERE / "node/client.js", SOURCE / "proto"], {
            "NODE_PATH": install_npm()}
    if LANGUAGE == "java":
        return [require("java", "default-jdk-headless"), f"@{MADE}/java/arguments"], {}
    return [MADE / f"{LANGUAGE}/client"], {}


class InteropTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def start(self, name, listen, security):
        server = Child([PROGRAMS / "musterd", "--engine", f"file://{self.scratch}/store", "--id", name,
                        "--listen", listen, "--http-listen", "off", "--limits", "off", "--log-level", "debug",
                        "--data-dir", self.scratch / name, *security(name)])
        self.addCleanup(server.end)
        return server, server.await_line(r"gRPC on (\S+)")[1]

    def run_client(self, security, shown):
        """Its lines, and what the leader has logged before it was stopped."""
        leader, address = self.start("s1", "127.0.0.1:0", security)
        leader.await_line("leading")
        _, standby = self.start("s2", "127.0.0.1:0", security)
        command, more = client()
        # What a library complains of on standard error is for anyone who reads the output of this test.
        program = Child([*command, address, standby, *shown], stderr=None,
                        env={**os.environ, **{name: str(value) for name, value in more.items()}})
        self.addCleanup(program.process.kill)
        lines = []
        while (line := program.next_line(60)) is not None:
            if line == "restart":
                self.assertEqual(leader.end(), 0)
                self.start("s1", address, security)
            else:
                lines.append(line)
        code = program.process.wait(timeout=10)
        program.end()
        leader.end()  # Where it was not restarted, it still writes.
        return lines, code, leader.rest()

    def check(self, steps, security, shown):
        lines, code, log = self.run_client(security, shown)
        told = {"metadata_over_limit": f" {OVER_LIMIT}"}
        self.assertEqual(lines, [f"ok {step}{told.get(step, '')}" for step in steps])
        self.assertEqual(code, 0)
        self.assertTrue(any("interop-request" in line for line in log if line), "the id is not in the log")

    def test_plaintext(self):
        self.check(STEPS, lambda name: ["--insecure"], [])

    def test_mutual_tls(self):
        pki = self.scratch / "pki"
        muster = [PROGRAMS / "muster", "certs"]
        subprocess.run([*muster, "init", "--dir", pki], check=True, capture_output=True)
        for role, name in (("server", "s1"), ("server", "s2"), ("admin", "op")):
            subprocess.run([*muster, "issue", "--dir", pki, "--role", role, "--id", name,
                            *(["--san", "127.0.0.1"] if role == "server" else [])],
                           check=True, capture_output=True)
        steps = list(STEPS)
        steps.insert(steps.index("stream_ends_with_server"), "without_certificate")
        self.check(steps, lambda name: ["--cert", pki / f"{name}.crt", "--key", pki / f"{name}.key",
                                        "--cacert", pki / "ca.crt", "--connection-max-age", "1s"],
                   [pki / "ca.crt", pki / "op.crt", pki / "op.key"])


unittest.main(argv=sys.argv[:1], verbosity=2)
