#!/usr/bin/env python3
"""Walks the description of /v1 against running servers: every path and method answers as described, every
described error occurs, and nothing occurs that is not described.

usage: openapi_test.py DIRECTORY_OF_PROGRAMS
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import unittest
import urllib.parse
import uuid

from scene import BIN, PLAIN, Server, curl, eventually

GENERATION = str(uuid.uuid4())
NODE = {"service": "object", "address": "10.0.0.1", "port": 7000, "generation_id": GENERATION, "tags": {"zone": "a"}}
BEAT = {"generation_id": GENERATION}
OTHER = str(uuid.uuid4())

# For each operation the name in its path, its query, and its body. PUT comes before what needs the node.
GOOD = {
    "listElections": ("", "?limit=5", None),
    "getElection": ("told", "", None),
    "listNodes": ("", "?state=ACTIVE&service=object", None),
    "registerNode": ("walked", "", NODE),
    "sendHeartbeat": ("walked", "", BEAT),
    "getNode": ("walked", "?linearizable=true", None),
    "lookUpRing": ("", "?key=hello&n=2&linearizable=true", None),
    "watchNodes": ("", "", None),
    "watchElection": ("told", "", None),
    "describe": ("", "", None),
    "acquireLock": ("walked-lock", "", {"session": "w2", "holder": "walker", "permits": 2}),
    "getLock": ("held-lock", "", None),
    "releaseLock": ("walked-lock", "?session=w2", None),
    "deregisterNode": ("walked", "?generation_id=" + GENERATION, None),
}
# What makes the status: another name, another query, another body.
NOT_FOUND = {"getElection": ("nobody", "", None), "getNode": ("nobody", "", None),
             "deregisterNode": ("nobody", "", None), "sendHeartbeat": ("nobody", "", BEAT),
             "getLock": ("nobody", "", None), "releaseLock": ("held-lock", "?session=other", None)}
CONFLICT = {"registerNode": ("taken", "", NODE | {"address": "10.0.0.2", "generation_id": OTHER}),
            "sendHeartbeat": ("taken", "", {"generation_id": OTHER}),
            "deregisterNode": ("taken", "?generation_id=" + OTHER, None),
            "acquireLock": ("held-lock", "", {"session": "other"})}


class Described:
    """One operation of the description."""

    def __init__(self, path, method, operation):
        self.path, self.method, self.operation = path, method.upper(), operation
        self.id = operation["operationId"]
        self.errors = {int(status) for status in operation["responses"]} - {200}
        self.body = "requestBody" in operation
        self.streams = "text/event-stream" in operation["responses"]["200"]["content"]

    def at(self, name, query):
        return re.sub(r"\{\w+\}", name, self.path) + query


class OpenApiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="muster-openapi-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.server = cls.start("s1", PLAIN)
        cls.document = cls.server.get("/v1/openapi.json")
        cls.operations = [Described(path, method, operation) for path, methods in cls.document["paths"].items()
                          for method, operation in methods.items()]
        leader = subprocess.Popen([BIN / "muster", "worker", "--id", "w1", "--name", "told", "--arbiter",
                                   f"muster://{cls.server.grpc}"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        cls.addClassCleanup(lambda: (leader.kill(), leader.wait()))
        eventually("led", lambda: cls.server.get("/v1/elections/told")["leader"])
        status, told = cls.server.ask_json("PUT", "/v1/nodes/taken", NODE)
        assert status == 200, told
        status, told = cls.server.ask_json("PUT", "/v1/locks/held-lock", {"session": "w1", "ttl_ms": 3600000})
        assert status == 200, told
        cls.handle = told["handle"]
        GOOD["renewLock"] = ("held-lock", "", {"session": "w1", "handle": cls.handle})
        NOT_FOUND["renewLock"] = ("held-lock", "", {"session": "other", "handle": cls.handle})

    @classmethod
    def start(cls, name, options, **more):
        folder = cls.folder / f"of-{name}"
        folder.mkdir()
        server = Server(folder, name, options, **more)
        cls.addClassCleanup(server.end)
        return server

    def fits(self, value, schema, where):
        """Checks the value with the part of JSON Schema that the description uses."""
        if "$ref" in schema:
            return self.fits(value, self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]], where)
        if value is None:
            return self.assertTrue(schema.get("nullable"), where)
        kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "number": float}
        self.assertIsInstance(value, kinds[schema["type"]], where)
        for name in schema.get("required", []):
            self.assertIn(name, value, where)
        for name, member in value.items() if schema.get("properties") else []:
            self.assertIn(name, schema["properties"], where)
            self.fits(member, schema["properties"][name], f"{where}.{name}")
        for each in value if schema["type"] == "array" else []:
            self.fits(each, schema["items"], where + "[]")
        return None

    def ask(self, server, operation, name, query, body, headers=None):
        """The status and the answer, for a stream its beginning; the error fits the description."""
        connection = server.connect()
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} if body is not None else {}
        try:
            connection.request(operation.method, operation.at(name, query), data, sent | (headers or {}))
            answer = connection.getresponse()
            where = f"{operation.id} {answer.status}"
            self.assertIn(str(answer.status), operation.operation["responses"], where)
            content = operation.operation["responses"][str(answer.status)]["content"]
            kind = answer.getheader("Content-Type").split(";")[0]
            self.assertIn(kind, content, where)
            if kind == "text/event-stream":
                return answer.status, answer.fp.readline().decode()
            told = json.loads(answer.read())
            self.fits(told, content[kind]["schema"], where)
            return answer.status, told
        finally:
            connection.close()

    def each(self, status):
        """The operations whose description has the status, each as a test of its own."""
        found = [operation for operation in self.operations if status in operation.errors]
        self.assertTrue(found, status)
        for operation in found:
            with self.subTest(operation=operation.id, status=status):
                yield operation

    def test_every_operation_answers_as_described(self):
        by_id = {operation.id: operation for operation in self.operations}
        self.assertEqual(set(by_id), set(GOOD))
        for name, (part, query, body) in GOOD.items():
            status, told = self.ask(self.server, by_id[name], part, query, body)
            self.assertEqual(status, 200, (name, told))
            self.assertEqual(by_id[name].body, body is not None, name)
        self.assertEqual(self.document["openapi"].split(".")[0], "3")

    def test_every_parameter_is_taken_and_no_other(self):
        values = {"after": "a", "limit": "3", "stale_ok": "true", "service": "object", "state": "DOWN", "key": "k",
                  "n": "2", "linearizable": "false", "generation_id": OTHER, "prefix": "app", "tag": "zone=a",
                  "session": "w9", "handle": urllib.parse.quote(self.handle)}
        for operation in self.operations:
            # The handle of a lock is of that lock.
            name = GOOD[operation.id][0] and ("held-lock" if operation.id == "renewLock" else "nobody")
            query = {each["name"] for each in operation.operation.get("parameters", []) if each["in"] == "query"}
            text = "&".join(f"{each}={values[each]}" for each in sorted(query))
            status, told = self.ask(self.server, operation, name, "?" + text, GOOD[operation.id][2])
            self.assertNotEqual(status, 400, (operation.id, told))
            for each in set(values) - query:
                status, told = self.ask(self.server, operation, name, f"?{text}&{each}=1", GOOD[operation.id][2])
                self.assertEqual(status, 400, (operation.id, each))
        self.server.ask("DELETE", "/v1/nodes/nobody")
        self.server.ask("DELETE", "/v1/locks/nobody?session=w2")

    def test_400_unknown_parameters_and_fields(self):
        for operation in self.each(400):
            name, query, body = GOOD[operation.id]
            status, _ = self.ask(self.server, operation, name, (query or "?") + "&unnamed=1", body)
            self.assertEqual(status, 400)
            if operation.body:
                for wrong in (body | {"unnamed": 1}, b"{", b"[]", {}, {key: [] for key in body}):
                    self.assertEqual(self.ask(self.server, operation, name, query, wrong)[0], 400, wrong)

    def test_403_another_host_or_site(self):
        for operation in self.each(403):
            name, query, body = GOOD[operation.id]
            self.assertEqual(self.ask(self.server, operation, name, query, body, {"Host": "evil.example"})[0], 403)

    def test_404_nothing_of_that_name(self):
        for operation in self.each(404):
            self.assertEqual(self.ask(self.server, operation, *NOT_FOUND[operation.id])[0], 404)

    def test_405_every_other_method(self):
        allowed = {}
        for operation in self.operations:
            allowed.setdefault(operation.path, set()).add(operation.method)
        for operation in self.each(405):
            for method in ("GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"):
                if method in allowed[operation.path]:
                    continue
                status, headers, text = self.server.ask(method, operation.at("x", ""))
                self.assertEqual(status, 405, method)
                self.assertEqual(set(headers["Allow"].split(", ")) - {"HEAD"}, allowed[operation.path])
                self.fits(json.loads(text), {"$ref": "#/components/schemas/Error"}, method)

    def test_409_the_state_does_not_permit_it(self):
        for operation in self.each(409):
            self.assertEqual(self.ask(self.server, operation, *CONFLICT[operation.id])[0], 409)

    def test_411_413_415_bodies(self):
        for operation in self.each(411):
            status, told = curl("-X", operation.method, "-H", "Transfer-Encoding: chunked", "-H",
                                "Content-Type: application/json", "-d", "{}",
                                self.server.url + operation.at("walked", ""))
            self.assertEqual(status, 411, told)
        for operation in self.each(413):
            name, query, _ = GOOD[operation.id]
            self.assertEqual(self.ask(self.server, operation, name, query, b"x" * 70_000)[0], 413)
        for operation in self.each(415):
            name, query, body = GOOD[operation.id]
            status, _ = self.ask(self.server, operation, name, query, body, {"Content-Type": "text/plain"})
            self.assertEqual(status, 415)

    def test_429_more_than_the_limits_allow(self):
        low = "1:1"
        server = self.start("s2", ["--insecure", "--limits-heartbeat", "10:1", "--limits-register", low,
                                   "--limits-deregister", low, "--limits-get-topology", low, "--limits-read", low,
                                   "--limits-watches", "1", "--limits-all-writes", "60:5"])
        streams = []
        self.addCleanup(lambda: [stream.close() for stream in streams])
        for operation in self.each(429):
            name, query, body = GOOD[operation.id]
            if operation.streams and not streams:
                connection = server.connect()
                connection.request("GET", "/v1/watch/nodes")
                streams.append(connection.getresponse())
                self.assertEqual(streams[0].status, 200)
            found = [self.ask(server, operation, name, query, body) for _ in range(8)]
            limited = [told for status, told in found if status == 429]
            self.assertTrue(limited, found)
            self.assertEqual(limited[0]["error"]["code"], "RESOURCE_EXHAUSTED")

    def test_503_without_an_engine(self):
        server = self.start("s3", PLAIN, engine="etcd://127.0.0.1:1/muster", wait=False)
        for operation in self.each(503):
            name, query, body = GOOD[operation.id]
            status, told = self.ask(server, operation, name, query, body)
            self.assertEqual((status, told["error"]["code"]), (503, "UNAVAILABLE"))

    def test_500_the_leader_does_not_answer(self):
        folder = self.folder / "of-frozen"
        folder.mkdir()
        servers = [Server(folder, name, PLAIN) for name in ("f1", "f2")]
        for server in servers:
            self.addCleanup(server.end)
        leader, follower = sorted(servers, key=lambda server: not server.leads())
        os.kill(leader.process.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, leader.process.pid, signal.SIGCONT)
        found = {}

        def ask(operation):
            name, query, body = GOOD[operation.id]
            found[operation.id] = self.ask(follower, operation, name, query, body)

        # All before another server leads.
        asking = [threading.Thread(target=ask, args=(operation,)) for operation in self.operations
                  if 500 in operation.errors]
        for each in asking:
            each.start()
        for each in asking:
            each.join()
        self.assertEqual(len(found), len(asking))
        for name, (status, told) in found.items():
            self.assertEqual((status, told["error"]["code"]), (500, "UNKNOWN"), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
