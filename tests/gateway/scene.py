"""Real musterd processes, and how the tests of this folder ask them."""

import http.client
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import uuid

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
LIMIT_SECONDS = 60
PLAIN = ["--insecure", "--limits", "off"]


def eventually(what, holds):
    """The first true answer of `holds`, which may fail meanwhile."""
    end = time.monotonic() + LIMIT_SECONDS
    last = None
    while time.monotonic() < end:
        try:
            last = holds()
            if last:
                return last
        except (OSError, ValueError, LookupError, http.client.HTTPException) as error:
            last = error
        time.sleep(0.05)
    raise AssertionError(f"not within {LIMIT_SECONDS} s: {what}; last: {last!r}")


class Server:
    """One musterd; its ports are its own choice, and told on standard output."""

    def __init__(self, folder, name, options, engine=None, wait=True):
        self.name = name
        self.log = folder / f"{name}.log"
        self.errors = self.log.open("w", encoding="utf-8")
        self.process = subprocess.Popen(
            [BIN / "musterd", "--id", name, "--engine", engine or f"file://{folder}/store", "--data-dir",
             folder / f"data-{name}", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", *options],
            stdout=subprocess.PIPE, stderr=self.errors, text=True)
        told = self.process.stdout.readline() + self.process.stdout.readline()
        where = re.search(r"gRPC on (\S+).*page and metrics on (https?)://(\S+?)/?\n", told, re.S)
        if not where:
            self.end()
            raise AssertionError(f"{name} did not start: {self.text()}")
        self.grpc, self.scheme, self.host = where.groups()
        self.url = f"{self.scheme}://{self.host}"
        if wait:
            eventually(f"{name} knows a leader", lambda: self.metric("muster_raft_term") > 0)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()

    def text(self):
        return self.log.read_text(encoding="utf-8")

    def metric(self, name):
        _, _, text = self.ask("GET", "/metrics")
        return sum(float(value) for value in re.findall(rf"^{re.escape(name)} (\S+)$", text, re.M))

    def leads(self):
        return self.metric('muster_raft_role{role="leader"}') == 1

    def connect(self, timeout=30):
        return http.client.HTTPConnection(self.host, timeout=timeout)

    def ask(self, method, path, body=None, headers=None):
        """The status, the headers and the text of the answer."""
        connection = self.connect()
        try:
            data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
            sent = {"Content-Type": "application/json"} if body is not None else {}
            connection.request(method, path, data, sent | (headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def ask_json(self, method, path, body=None, headers=None):
        status, _, text = self.ask(method, path, body, headers)
        return status, json.loads(text)

    def get(self, path, **query):
        status, found = self.ask_json("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))
        if status != 200:
            raise LookupError(found)
        return found

    def register(self, name, generation=None, **more):
        body = {"service": "object", "address": "10.0.0.1", "port": 7000,
                "generation_id": generation or str(uuid.uuid4()), **more}
        return self.ask_json("PUT", f"/v1/nodes/{name}", body)

    def activate(self, name, **more):
        """Registers the node and makes it ACTIVE; its generation."""
        generation = str(uuid.uuid4())
        status, told = self.register(name, generation, **more)
        assert status == 200, told
        status, told = self.ask_json("POST", f"/v1/nodes/{name}/heartbeat", {"generation_id": generation})
        assert status == 200, told
        eventually("active", lambda: self.get(f"/v1/nodes/{name}")["state"] == "ACTIVE")
        return generation


class Events(threading.Thread):
    """Reads server-sent events, and keeps (event, id, data) of each."""

    def __init__(self, server, path, last=None):
        super().__init__(daemon=True)
        self.connection = server.connect(LIMIT_SECONDS)
        self.connection.request("GET", path, headers={"Last-Event-ID": last} if last else {})
        self.socket = self.connection.sock  # The answer takes it over.
        self.answer = self.connection.getresponse()
        self.heard = []
        self.ended = threading.Event()
        self.start()

    def run(self):
        name = number = None
        try:
            for raw in self.answer:
                line = raw.decode().rstrip("\n")
                if line.startswith("id: "):
                    number = line[4:]
                elif line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    self.heard.append((name, number, json.loads(line[6:])))
        except (OSError, ValueError, AttributeError):
            pass  # Closed under it.
        self.ended.set()

    def wait_for(self, name, fits=lambda data: True):
        return eventually(f"{name} in {[each[0] for each in self.heard]}", lambda: next(
            (each for each in list(self.heard) if each[0] == name and fits(each[2])), None))

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # The server was first.
        self.join()
        self.answer.close()


class PairTest(unittest.TestCase):
    """Two servers on one engine, `leader` and `follower`, each with an audit log."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="muster-http-")
        cls.addClassCleanup(cls.temporary.cleanup)
        folder = pathlib.Path(cls.temporary.name)
        cls.servers = []
        for name in ("s1", "s2"):
            server = Server(folder, name, [*PLAIN, "--audit-log", folder / f"audit-{name}.jsonl"])
            cls.servers.append(server)
            cls.addClassCleanup(server.end)
        cls.leader, cls.follower = sorted(cls.servers, key=lambda server: not server.leads())
        assert cls.leader.leads()
        assert not cls.follower.leads()
        cls.folder = folder

    def refused(self, server, method, path, status, code, says, body=None, headers=None):
        got, told = server.ask_json(method, path, body, headers)
        self.assertEqual((got, told["error"]["code"]), (status, code), told)
        self.assertIn(says, told["error"]["message"])
        return told["error"]


def curl(*words):
    """The status and the body that curl prints."""
    done = subprocess.run(["curl", "-s", "--max-time", "30", "-w", "\n%{http_code}", *words], check=False,
                          capture_output=True, text=True)
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body
