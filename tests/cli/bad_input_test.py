#!/usr/bin/env python3
"""What `muster` says when what it is given is wrong: within its timeout, one sentence on standard error
that names the server and what to check, and the exit code that docs/json.md lists.

usage: bad_input_test.py DIRECTORY_OF_PROGRAMS
"""
# Takes about 30 s: about ten commands wait for their timeout of 2 s, and a node must stay ACTIVE for 7 s, longer
# than the 5 s after which it would be SUSPECT.
import contextlib
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
JUMPING_CLOCK = str(PROGRAMS / "jumping_clock.so")
UNREACHABLE, USAGE = 69, 64


class Listener:
    """A server on loopback that does `answer` with each connection."""

    def __init__(self, answer):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.answer = answer
        self.open = []
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                self.open.append(connection)
                with contextlib.suppress(OSError):
                    self.answer(connection)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()
        for each in self.open:
            each.close()


def silence(_connection):
    pass


def speak_http1(connection):
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


class BadInputTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="muster-bad-input-")
        cls.addClassCleanup(cls.directory.cleanup)
        for place in ("pki", "other"):
            cls.certs("init", place)
            cls.certs("issue", place, "--role", "admin", "--id", "op")
        cls.certs("issue", "pki", "--role", "server", "--id", "s1", "--san", "127.0.0.1")

    @classmethod
    def certs(cls, action, place, *more):
        subprocess.run([PROGRAMS / "muster", "certs", action, "--dir", cls.file(place), *more],
                       check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def file(cls, name):
        return os.path.join(cls.directory.name, name)

    def listener(self, answer):
        made = Listener(answer)
        self.addCleanup(made.close)
        return made.address

    def tls_listener(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file("pki/s1.crt"), self.file("pki/s1.key"))
        context.load_verify_locations(self.file("pki/ca.crt"))
        context.verify_mode = ssl.CERT_REQUIRED
        context.set_alpn_protocols(["h2"])

        def answer(connection):
            with context.wrap_socket(connection, server_side=True) as secured:
                secured.recv(1)
        return self.listener(answer)

    def credentials(self, ca, own=None):
        words = ["--cacert", self.file(ca)]
        return words + (["--cert", self.file(own + ".crt"), "--key", self.file(own + ".key")]
                        if own else [])

    def refused(self, words, code, *said, **environment):
        """Ends with `code`, soon after a timeout of 2 s at the latest, with one sentence."""
        began = time.monotonic()
        done = subprocess.run([PROGRAMS / "muster", *words, "--timeout", "2s"], text=True, timeout=60,
                              capture_output=True, check=False, env={**os.environ, **environment})
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in said:
            self.assertIn(part, done.stderr)

    def asks(self, server, *more):
        return ["health", "--server", server, *more]

    def test_wrong_address_or_port(self):
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))  # And does not listen.
            nobody = f"127.0.0.1:{held.getsockname()[1]}"
            self.refused(self.asks(nobody), UNREACHABLE, nobody, "check", "nothing listens")
            for scheme in ("muster", "etcd"):
                self.refused(["leader", "--arbiter", f"{scheme}://{nobody}/x"], UNREACHABLE, nobody,
                             "check")
        self.refused(self.asks("127.0.0.1"), USAGE, "port is missing")
        self.refused(self.asks("127.0.0.1:99999"), USAGE, "99999")
        self.refused(self.asks("no-such-host.invalid:9000"), UNREACHABLE, "no-such-host.invalid:9000",
                     "DNS")

    def test_a_server_of_another_kind(self):
        quiet = self.listener(silence)
        self.refused(self.asks(quiet), UNREACHABLE, quiet, "check")
        web = self.listener(speak_http1)
        self.refused(self.asks(web), UNREACHABLE, web, "does not speak gRPC", "check")

    def test_half_a_tls_setup(self):
        secure = self.tls_listener()
        self.refused(self.asks(secure), UNREACHABLE, secure, "TLS", "--cacert")
        self.refused(self.asks(secure, *self.credentials("pki/ca.crt")), UNREACHABLE, secure, "--cert")
        self.refused(self.asks(secure, *self.credentials("other/ca.crt", "other/op")), UNREACHABLE,
                     secure, "with --cacert")
        plain = self.listener(speak_http1)
        self.refused(self.asks(plain, *self.credentials("pki/ca.crt", "pki/op")), UNREACHABLE, plain,
                     "does not use TLS")

    def test_files_that_do_not_fit_are_named_before_anything_is_sent(self):
        words = self.asks("127.0.0.1:1")
        self.refused([*words, "--cert", self.file("pki/op.crt")], USAGE, "--key")
        self.refused([*words, "--cacert", self.file("nowhere")], USAGE, self.file("nowhere"))
        self.refused([*words, "--cacert", self.file("pki/op.key")], USAGE, self.file("pki/op.key"))
        self.refused([*words, "--cert", self.file("pki/op.crt"), "--key", self.file("other/op.key")],
                     USAGE, "is not the key of")

    def test_a_wall_clock_that_jumps_moves_no_deadline(self):
        quiet = self.listener(silence)
        for jump in ("3600", "-3600"):
            self.refused(self.asks(quiet), UNREACHABLE, quiet, "check", LD_PRELOAD=JUMPING_CLOCK, JUMP=jump)

    def test_a_wall_clock_that_jumps_costs_no_heartbeat(self):
        log = open(self.file("musterd.log"), "w+", encoding="utf-8")
        self.addCleanup(log.close)
        words = ["setpriv", "--pdeathsig", "KILL"]
        musterd = subprocess.Popen([*words, PROGRAMS / "musterd", "--insecure", "--limits", "off",
                                    "--id", "s1", "--engine",
                                    f"file://{self.file('store')}", "--data-dir", self.file("data"),
                                    "--listen", "127.0.0.1:0", "--heartbeat-interval", "1s",
                                    "--suspect-timeout", "5s"], stdout=log, stderr=log)
        self.addCleanup(musterd.wait)
        self.addCleanup(musterd.kill)
        limit = time.monotonic() + 60
        while not (found := re.search(r"gRPC on (\S+)(.|\n)*leading",
                                      pathlib.Path(log.name).read_text(encoding="utf-8"))):
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.05)
        server = found[1]
        node = subprocess.Popen([*words, PROGRAMS / "muster", "node", "register", "a", "--address",
                                 "10.0.0.1", "--port", "7000", "--keep-alive", "--server", server,
                                 "--heartbeat-interval", "500ms"], stdout=subprocess.DEVNULL,
                                env={**os.environ, "LD_PRELOAD": JUMPING_CLOCK, "JUMP": "-86400"})
        self.addCleanup(node.wait)
        self.addCleanup(node.kill)
        # Longer than a node may be silent.
        active_until = time.monotonic() + 7
        seen = ""
        while time.monotonic() < active_until or "ACTIVE" not in seen:
            self.assertLess(time.monotonic(), limit, seen)
            seen = subprocess.run([PROGRAMS / "muster", "nodes", "--server", server], text=True,
                                  capture_output=True, check=False).stdout
            self.assertNotIn("SUSPECT", seen)
            time.sleep(0.3)


unittest.main(argv=sys.argv[:1], verbosity=2)
