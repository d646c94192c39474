#!/usr/bin/env python3
"""The examples that lead, lock and register in Go and Java, at three real servers. The server that leads is killed
while they work, and their work goes on.

usage: clients_test.py LANGUAGE DIRECTORY_OF_PROGRAMS BUILD_DIRECTORY
"""
# Takes about a minute: servers are killed, leases and heartbeats pass.
import os
import pathlib
import queue
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

LANGUAGE = sys.argv[1]
PROGRAMS = pathlib.Path(sys.argv[2])
BUILD = pathlib.Path(sys.argv[3])
PATIENCE = 60


class Child:
    """A running program whose lines can be waited for."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen([str(word) for word in command], text=True, stdout=subprocess.PIPE, **more)
        self.lines = queue.Queue()
        self.seen = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put((time.monotonic(), line.rstrip()))

    def await_line(self, pattern, after=0.0):
        """The next line like this that came after a moment."""
        limit = time.monotonic() + PATIENCE
        while (left := limit - time.monotonic()) > 0:
            try:
                when, line = self.lines.get(timeout=left)
            except queue.Empty:
                break
            self.seen.append(line)
            if when > after and (found := re.fullmatch(pattern, line)):
                return found
        raise AssertionError(f"no line like {pattern!r}, only {self.seen[-10:]}")

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(timeout=PATIENCE)
        self.reader.join()
        self.process.stdout.close()
        return code


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class ClientsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="muster-clients-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.addresses = {f"s{i}": f"127.0.0.1:{port}" for i, port in enumerate(free_ports(3), 1)}
        self.servers = {}
        for server in self.addresses:
            self.start_server(server)
        self.list = ",".join(self.addresses.values())
        self.leader()

    def start_server(self, name):
        self.servers[name] = Child([
            PROGRAMS / "musterd", "--engine", f"file://{self.folder}/store", "--id", name, "--insecure", "--limits", "off",
            "--listen", self.addresses[name], "--http-listen", "off", "--data-dir", f"{self.folder}/{name}"],
            stderr=subprocess.DEVNULL)
        self.addCleanup(self.servers[name].end, signal.SIGKILL)

    def leader(self, other_than=None):
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            for address in self.addresses.values():
                done = subprocess.run([PROGRAMS / "muster", "health", "--server", address],
                                      capture_output=True, text=True, check=False, timeout=PATIENCE)
                found = re.search(r"(s\d) leads at", done.stdout)
                if found and found[1] != other_than and self.servers[found[1]].process.poll() is None:
                    return found[1]
            time.sleep(0.1)
        raise AssertionError("no server leads")

    def run_example(self, name, *words):
        if LANGUAGE == "go":
            command = [BUILD / "examples/go" / name]
        else:
            command = ["java", f"@{BUILD}/examples/java/arguments", name.capitalize()]
        child = Child([*command, self.list, *words])
        self.addCleanup(child.end, signal.SIGKILL)
        return child

    def test_lead(self):
        first = self.run_example("lead", "report", "first")
        token = first.await_line(r"working, token (\d+)")[1]
        second = self.run_example("lead", "report", "second")
        killed = self.leader()
        self.servers[killed].end(signal.SIGKILL)
        self.leader(other_than=killed)
        # For longer than the lease, so that it was renewed at another server: the term goes on.
        first.await_line(f"working, token {token}", after=time.monotonic() + 16)
        self.assertTrue(all(line == f"working, token {token}" for line in first.seen), first.seen)
        self.assertTrue(second.lines.empty(), "two lead")
        self.assertEqual(first.end(), 0)
        second.await_line(f"working, token {int(token) + 1}")
        self.assertEqual(second.end(), 0)

    def test_lead_gives_up_when_an_operator_wants_another_leader(self):
        first = self.run_example("lead", "report", "first")
        first.await_line(r"working, token \d+")
        second = self.run_example("lead", "report", "second")
        transfer = [PROGRAMS / "muster", "transfer", "--arbiter", f"muster://{self.list}", "--name", "report",
                    "--to", "second"]
        limit = time.monotonic() + PATIENCE
        while subprocess.run(transfer, capture_output=True, timeout=PATIENCE, check=False).returncode != 0:
            self.assertLess(time.monotonic(), limit, "the second does not take part")
        first.await_line(r"stopped, token \d+")
        second.await_line(r"working, token \d+")
        for each in (first, second):
            self.assertEqual(each.end(), 0)

    def test_lead_ends_with_its_lease_when_no_server_is_left(self):
        first = self.run_example("lead", "report", "first")
        first.await_line(r"working, token \d+")
        for server in self.servers.values():
            server.end(signal.SIGKILL)
        began = time.monotonic()
        first.await_line(r"stopped, token \d+")
        self.assertLess(time.monotonic() - began, 15)
        self.assertEqual(first.end(), 0)

    def test_lock(self):
        first = self.run_example("lock", "m")
        first.await_line("holding, token 1")
        second = self.run_example("lock", "m")
        killed = self.leader()
        self.servers[killed].end(signal.SIGKILL)
        self.leader(other_than=killed)
        first.await_line("holding, token 1", after=time.monotonic() + 7)
        self.assertTrue(second.lines.empty(), "two hold it")
        self.assertEqual(first.end(), 0)
        second.await_line("holding, token 2")
        self.assertEqual(second.end(), 0)

    def test_nodes(self):
        first = self.run_example("nodes", "n1", "127.0.0.1", "7000", "customer/17")
        first.await_line("customer/17 is at n1")
        second = self.run_example("nodes", "n2", "127.0.0.1", "7001", "customer/17")
        second.await_line("customer/17 is at (n1, n2|n2, n1)")
        for each in (first, second):
            self.assertEqual(each.end(), 0)
        nodes = subprocess.run([PROGRAMS / "muster", "nodes", "--server", self.list.split(",")[0]],
                               capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertNotIn("n1", nodes.stdout)

    def test_each_is_short(self):
        root = pathlib.Path(__file__).resolve().parents[2] / "examples" / LANGUAGE
        for path in root.rglob("*.go" if LANGUAGE == "go" else "*.java"):
            self.assertLessEqual(len(path.read_text(encoding="utf-8").splitlines()), 160, path)


unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
