#!/usr/bin/env python3
"""Asks two musterd, a leader and a follower, over HTTP: elections, nodes, the ring, watches.

usage: http_test.py DIRECTORY_OF_PROGRAMS
"""

import hashlib
import json
import pathlib
import re
import socket
import subprocess
import tempfile
import time
import unittest
import uuid

from scene import BIN, LIMIT_SECONDS, PLAIN, Events, PairTest, Server, curl, eventually


def owner_of(nodes, key, virtual_nodes):
    """The primary owner by docs/formats.md, not by our code."""
    def position(data):
        return int.from_bytes(hashlib.sha256(data).digest()[:8], "little")

    points = sorted((position(node.encode() + index.to_bytes(4, "little")), node)
                    for node in nodes for index in range(virtual_nodes))
    at = position(key.encode())
    return next((node for place, node in points if place >= at), points[0][1])


class HttpTest(PairTest):
    def worker(self, name, address, worker="w1"):
        process = subprocess.Popen(
            [BIN / "muster", "worker", "--id", worker, "--name", name, "--arbiter", address, "--startup-jitter-max",
             "0s"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def end():
            process.kill()
            process.wait()

        self.addCleanup(end)
        return process

    def test_a_node_lives_on_any_server(self):
        for server, name in ((self.leader, "life-1"), (self.follower, "life-2")):
            generation = str(uuid.uuid4())
            status, told = server.register(name, generation, weight=2)
            self.assertEqual((status, told["already_registered"]), (200, False))
            self.assertTrue(server.register(name, generation, weight=2)[1]["already_registered"])
            node = eventually("there", lambda: server.get(f"/v1/nodes/{name}"))
            self.assertEqual((node["state"], node["service"], node["weight"]), ("JOINING", "object", 2))
            status, beat = server.ask_json("POST", f"/v1/nodes/{name}/heartbeat",
                                           {"generation_id": generation, "known_version": 0})
            self.assertEqual((status, beat["refresh_required"]), (200, True))
            self.assertIn(beat["leader_id"], [each.name for each in self.servers])
            eventually("active", lambda: server.get(f"/v1/nodes/{name}")["state"] == "ACTIVE")
            found = server.get("/v1/nodes", state="active", service="object", linearizable="true")
            self.assertIn(name, [node["id"] for node in found["nodes"]])
            self.assertNotIn(name, [node["id"] for node in server.get("/v1/nodes", service="frontend")["nodes"]])
            self.assertLess(server.get(f"/v1/nodes/{name}")["heartbeat_age_ms"], 60000)

            other = str(uuid.uuid4())
            self.refused(server, "DELETE", f"/v1/nodes/{name}?generation_id={other}", 409, "FAILED_PRECONDITION",
                         "generation")
            error = self.refused(server, "POST", f"/v1/nodes/{name}/heartbeat", 409, "FAILED_PRECONDITION", "",
                                 {"generation_id": other})
            self.assertTrue(error["replaced"])
            status, _ = server.ask_json("DELETE", f"/v1/nodes/{name}?generation_id={generation}")
            self.assertEqual(status, 200)
            eventually("gone", lambda: server.ask("GET", f"/v1/nodes/{name}?linearizable=true")[0] == 404)
            self.refused(server, "POST", f"/v1/nodes/{name}/heartbeat", 404, "NOT_FOUND", "is not registered",
                         {"generation_id": generation})

    def test_curl_does_it_too(self):
        url = self.follower.url + "/v1/nodes/curl-1"
        generation = str(uuid.uuid4())
        body = json.dumps({"service": "metadata", "address": "10.0.0.2", "port": 80, "generation_id": generation})
        status, told = curl("-X", "PUT", "-H", "Content-Type: application/json", "-d", body, url)
        self.assertEqual(status, 200, told)
        self.assertEqual(curl("--json", "{}", url)[0], 405, "--json is a POST")
        self.assertEqual(curl(url + "?linearizable=true")[0], 200)
        self.assertEqual(curl("-I", url)[0], 200)
        self.assertEqual(curl("-X", "DELETE", url)[0], 200)
        self.assertEqual(curl(url + "?linearizable=true")[0], 404)

    def test_the_ring_names_the_owners_that_the_format_says(self):
        names = [f"ring-{index}" for index in range(3)]
        for name in names:
            self.leader.activate(name)
        found = self.follower.get("/v1/nodes", linearizable="true")
        placed = [node["id"] for node in found["nodes"]
                  if node["state"] in ("ACTIVE", "SUSPECT") and node["service"] in ("frontend", "metadata", "object")]
        for key in ("hello", "a key with spaces", "schlüssel"):
            told = self.follower.get("/v1/ring", key=key, linearizable="true")
            expected = owner_of(placed, key, found["ring"]["virtual_nodes_per_physical"])
            self.assertEqual(told["owners"][0]["id"], expected, key)
            self.assertEqual(len({node["id"] for node in told["owners"]}), 3)
            self.assertFalse(told["degraded"])
            self.assertEqual(self.follower.get("/v1/ring", key=key, n=1)["owners"][0]["id"], expected)
        self.assertEqual(self.follower.get("/v1/ring", key="k", service="frontend")["owners"], [])
        self.refused(self.follower, "GET", "/v1/ring?key=k&service=No", 400, "INVALID_ARGUMENT", "service")

    def test_nodes_of_any_service_have_tags_and_a_ring_of_their_own(self):
        watch = Events(self.follower, "/v1/watch/nodes?service=cache")
        self.addCleanup(watch.close)
        watch.wait_for("full_sync")
        for name, zone in (("cache-1", "a"), ("cache-2", "b")):
            self.leader.activate(name, service="cache", tags={"zone": zone})
        self.leader.activate("no-cache")
        found = self.follower.get("/v1/nodes", service="cache", linearizable="true")["nodes"]
        self.assertEqual([(node["id"], node["service"], node["tags"]) for node in found],
                         [("cache-1", "cache", {"zone": "a"}), ("cache-2", "cache", {"zone": "b"})])
        self.assertEqual([node["id"] for node in self.follower.get("/v1/nodes", tag="zone=b")["nodes"]], ["cache-2"])
        self.assertEqual(self.follower.get("/v1/nodes/cache-2")["service"], "cache")
        owners = self.follower.get("/v1/ring", key="k", service="cache", n=5, linearizable="true")["owners"]
        self.assertEqual(owners[0]["id"], owner_of(["cache-1", "cache-2"], "k", 16))
        self.assertEqual(len(owners), 2)
        watch.wait_for("node_updated", lambda data: data["node"]["id"] == "cache-2")
        self.assertNotIn("no-cache", [data.get("node", {}).get("id") for _, _, data in watch.heard])
        self.refused(self.leader, "PUT", "/v1/nodes/n1", 400, "INVALID_ARGUMENT", "service",
                     {"service": "No!", "address": "10.0.0.1", "port": 1, "generation_id": str(uuid.uuid4())})

    def test_elections_show_who_leads(self):
        self.worker("cron", f"muster://{self.leader.grpc}")
        self.worker("cron", f"muster://{self.follower.grpc}/team", "w9")
        for server in self.servers:
            found = eventually("led", lambda: server.get("/v1/elections/cron"))
            self.assertEqual((found["leader"], found["value"], found["epoch"]), ("w1", "", 1))
            self.assertGreater(found["lease_left_ms"], 0)
            self.assertLessEqual(found["lease_left_ms"], found["lease_ms"])
            below = eventually("led below a path", lambda: server.get("/v1/elections/cron", prefix="team"))
            self.assertEqual(below["leader"], "w9")
            listed = server.get("/v1/elections")
            self.assertIn(("cron", "w1"), [(each["name"], each["leader"]) for each in listed["elections"]])
            self.assertIsNone(listed["next"])
            self.assertEqual([each["leader"] for each in server.get("/v1/elections", prefix="team")["elections"]],
                             ["w9"])
        self.refused(self.leader, "GET", "/v1/elections/nobody", 404, "NOT_FOUND", "there is no election nobody")
        self.refused(self.leader, "GET", "/v1/elections/a%2Fb", 400, "INVALID_ARGUMENT", "name")

    def test_lists_of_elections_go_on_where_they_were_cut(self):
        for name in ("list-a", "list-b", "list-c"):
            self.worker(name, f"muster://{self.leader.grpc}/lists")
        eventually("three", lambda: len(self.leader.get("/v1/elections", prefix="lists")["elections"]) == 3)
        names, after = [], ""
        for _ in range(3):
            page = self.leader.get("/v1/elections", prefix="lists", limit=1, **({"after": after} if after else {}))
            names += [each["name"] for each in page["elections"]]
            after = page["next"]
            if not after:
                break
        self.assertEqual(names, ["list-a", "list-b", "list-c"])

    def test_what_is_wrong_is_refused_with_its_reason(self):
        ask = self.refused
        server = self.follower
        body = {"service": "object", "address": "10.0.0.1", "port": 7000, "generation_id": str(uuid.uuid4())}
        ask(server, "GET", "/v1/nothing", 404, "NOT_FOUND", "there is no /v1/nothing")
        ask(server, "GET", "/v1", 404, "NOT_FOUND", "openapi.json")
        ask(server, "POST", "/v1/nodes", 405, "UNIMPLEMENTED", "GET, HEAD")
        self.assertEqual(server.ask("PATCH", "/v1/nodes/n1")[1]["Allow"], "GET, HEAD, PUT, DELETE")
        ask(server, "GET", "/v1/nodes?stat=down", 400, "INVALID_ARGUMENT", "the parameter stat is not known")
        ask(server, "GET", "/v1/nodes?state=asleep", 400, "INVALID_ARGUMENT", "state must be")
        ask(server, "GET", "/v1/ring", 400, "INVALID_ARGUMENT", "the parameter key is missing")
        ask(server, "GET", "/v1/ring?key=a&n=65", 400, "INVALID_ARGUMENT", "n must be")
        ask(server, "GET", "/v1/elections?limit=0", 400, "INVALID_ARGUMENT", "limit must be")
        ask(server, "PUT", "/v1/nodes/n1", 400, "INVALID_ARGUMENT", "not valid JSON", b'{"address": ')
        ask(server, "PUT", "/v1/nodes/n1", 400, "INVALID_ARGUMENT", "the field state is not known",
            body | {"state": "ACTIVE"})
        ask(server, "PUT", "/v1/nodes/n1", 400, "INVALID_ARGUMENT", "port must be", body | {"port": "7000"})
        ask(server, "PUT", "/v1/nodes/n1", 400, "INVALID_ARGUMENT", "port", body | {"port": 70000})
        ask(server, "PUT", "/v1/nodes/n1", 400, "INVALID_ARGUMENT", "the field address is missing",
            {key: value for key, value in body.items() if key != "address"})
        ask(server, "PUT", "/v1/nodes/-n1", 400, "INVALID_ARGUMENT", "id", body)
        ask(server, "PUT", "/v1/nodes/n1", 415, "INVALID_ARGUMENT", "application/json", body,
            {"Content-Type": "text/plain"})
        ask(server, "PUT", "/v1/nodes/n1", 413, "INVALID_ARGUMENT", "65536 bytes", b"x" * 100_000)
        ask(server, "DELETE", "/v1/nodes/n1", 400, "INVALID_ARGUMENT", "no body", {})
        ask(server, "PUT", "/v1/nodes/n1", 403, "PERMISSION_DENIED", "another site", body,
            {"Origin": "http://evil.example"})
        ask(server, "PUT", "/v1/nodes/n1", 403, "PERMISSION_DENIED", "another site", body,
            {"Sec-Fetch-Site": "cross-site"})
        ask(server, "GET", "/v1/nodes", 403, "PERMISSION_DENIED", "localhost", headers={"Host": "evil.example"})
        ask(server, "GET", "/v1/watch/nodes", 400, "INVALID_ARGUMENT", "Last-Event-ID", headers={"Last-Event-ID": "x"})
        self.assertEqual(server.ask("PUT", "/api/nodes", {})[0], 405)
        self.assertEqual(curl("-X", "PUT", "-H", "Content-Type: application/json", "-H", "Transfer-Encoding: chunked",
                              "-d", "{}", server.url + "/v1/nodes/n1")[0], 411)
        # A large body is refused before it is sent, and after as well.
        large = self.folder / "large"
        large.write_bytes(b"x" * (4 << 20))
        self.assertEqual(curl("-X", "PUT", "-H", "Content-Type: application/json", "-T", str(large),
                              server.url + "/v1/nodes/n1")[0], 413)
        self.assertEqual(server.ask("GET", "/v1/nodes/n1?linearizable=true")[0], 404, "nothing was registered")

    def test_changes_are_in_the_audit_log_and_requests_are_counted(self):
        server = self.follower
        audit = self.folder / f"audit-{server.name}.jsonl"
        before = server.metric('muster_http_requests_total{path="v1",status="200"}')
        server.register("audited-1")
        server.register("audited-2", port=0)
        server.ask("GET", "/v1/nodes")
        records = [json.loads(line) for line in audit.read_text(encoding="utf-8").splitlines()]
        by_subject = {record["subject"]: record for record in records if record["subject"].startswith("audited-")}
        self.assertEqual(by_subject["audited-1"]["code"], 0)
        self.assertEqual(by_subject["audited-1"]["from"], "127.0.0.1")
        self.assertIn("RegisterNode", by_subject["audited-1"]["method"])
        self.assertEqual(by_subject["audited-2"]["code"], 3)
        leaders = self.folder / f"audit-{self.leader.name}.jsonl"
        self.assertNotIn("audited-1", leaders.read_text(encoding="utf-8") if leaders.exists() else "",
                         "a forwarded request is recorded once, where it came in")
        self.assertEqual(server.metric('muster_http_requests_total{path="v1",status="200"}'), before + 2)
        self.assertGreater(server.metric('muster_http_requests_total{path="v1",status="400"}'), 0)
        self.assertGreater(server.metric('muster_rpc_requests_total{code="OK",method="CoordinatorService/RegisterNode"}'), 0)

    def test_a_watch_of_nodes_goes_on_where_it_was(self):
        events = Events(self.follower, "/v1/watch/nodes")
        self.addCleanup(events.close)
        self.assertEqual(events.answer.getheader("Content-Type"), "text/event-stream")
        _, first, whole = events.wait_for("full_sync")
        self.assertRegex(first, rf"^{whole['version']}@{whole['history']}$")
        self.leader.activate("watch-1")
        events.wait_for("node_added", lambda data: data["node"]["id"] == "watch-1")
        _, last, _ = events.wait_for("node_updated", lambda data: data["node"]["state"] == "ACTIVE")
        versions = [(data["previous_version"], data["version"]) for name, _, data in list(events.heard)
                    if name.startswith("node_")]
        for (_, version), (previous, _) in zip(versions, versions[1:]):
            self.assertEqual(previous, version, "no version is missed")
        events.close()
        self.leader.activate("watch-2")
        for resume in (last, last.split("@")[0]):
            again = Events(self.leader, "/v1/watch/nodes", resume)
            self.addCleanup(again.close)
            again.wait_for("node_added", lambda data: data["node"]["id"] == "watch-2")
            self.assertNotIn("full_sync", [each[0] for each in again.heard])
        other = Events(self.leader, "/v1/watch/nodes", last.split("@")[0] + "@another-history")
        self.addCleanup(other.close)
        self.assertEqual(other.wait_for("full_sync")[2]["history"], whole["history"])

    def test_a_watch_of_an_election_tells_each_leader(self):
        path = "/v1/watch/elections/handed"
        events = Events(self.follower, path)
        self.addCleanup(events.close)
        self.assertEqual(events.wait_for("removed")[2], {"name": "handed"})
        first = self.worker("handed", f"muster://{self.leader.grpc}")
        _, _, led = events.wait_for("election", lambda data: data["leader"] == "w1")
        first.terminate()
        _, last, released = events.wait_for("election", lambda data: data["leader"] is None and data["epoch"] > 0)
        self.assertEqual(released["epoch"], led["epoch"])
        self.worker("handed", f"muster://{self.leader.grpc}", "w2")
        _, _, next_led = events.wait_for("election", lambda data: data["leader"] == "w2")
        self.assertGreater(next_led["epoch"], led["epoch"])
        again = Events(self.leader, path, last)
        self.addCleanup(again.close)
        _, _, seen = again.wait_for("election")
        self.assertGreater(seen["revision"], released["revision"], "nothing is told twice")
        again.wait_for("election", lambda data: data["leader"] == "w2")
        present = Events(self.leader, path)
        self.addCleanup(present.close)
        self.assertEqual(present.wait_for("election")[2]["leader"], "w2")

    def test_a_client_that_does_not_read_costs_little_and_delays_nobody(self):
        server = self.leader
        before = self.memory(server)
        silent = []
        for _ in range(20):
            deaf = socket.create_connection(server.host.split(":"))
            self.addCleanup(deaf.close)
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.sendall(f"GET /v1/watch/nodes HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode())
            silent.append(deaf)
        eventually("all watch", lambda: server.metric("coordinator_watch_connections") >= 20)
        listener = Events(server, "/v1/watch/nodes")
        self.addCleanup(listener.close)
        listener.wait_for("full_sync")
        generation = str(uuid.uuid4())
        for turn in range(300):
            server.register("busy-1", generation if turn % 2 else str(uuid.uuid4()), weight=turn % 9 + 1)
        last = server.get("/v1/nodes", linearizable="true")["version"]
        eventually("the one that reads has all", lambda: any(data.get("version") == last
                                                             for _, _, data in listener.heard))
        self.assertLess(self.memory(server) - before, 32 << 20)
        for deaf in silent:
            deaf.close()
        eventually("their watches are gone", lambda: server.metric("coordinator_watch_connections") <= 5)

    def test_open_watches_are_bounded_and_leave_room_for_others(self):
        opened = []
        self.addCleanup(lambda: [each.close() for each in opened])
        for _ in range(120):
            one = socket.create_connection(self.follower.host.split(":"))
            one.sendall(f"GET /v1/watch/nodes HTTP/1.1\r\nHost: {self.follower.host}\r\n\r\n".encode())
            opened.append(one)
        answers = [one.recv(15) for one in opened]
        self.assertIn(b"HTTP/1.1 503 Se", answers)
        self.assertGreaterEqual(answers.count(b"HTTP/1.1 200 OK"), 80)
        self.assertEqual(self.follower.ask("GET", "/healthz")[0], 200)

    @staticmethod
    def memory(server):
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024


class StopTest(unittest.TestCase):
    def test_a_server_that_stops_tells_its_watchers(self):
        with tempfile.TemporaryDirectory(prefix="muster-http-stop-") as name:
            server = Server(pathlib.Path(name), "s1", PLAIN)
            self.addCleanup(server.end)
            events = Events(server, "/v1/watch/nodes")
            self.addCleanup(events.close)
            events.wait_for("full_sync")
            began = time.monotonic()
            server.process.terminate()
            _, _, data = events.wait_for("end")
            self.assertEqual(data["error"]["code"], "UNAVAILABLE")
            self.assertTrue(events.ended.wait(LIMIT_SECONDS))
            self.assertEqual(server.process.wait(LIMIT_SECONDS), 0)
            self.assertLess(time.monotonic() - began, LIMIT_SECONDS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
