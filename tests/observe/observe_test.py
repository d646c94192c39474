#!/usr/bin/env python3
"""Watches a live cluster of three servers as people would: by HTTP, by events, with a real Prometheus,
by explanations and recordings, and by its logs.

usage: observe_test.py DIRECTORY_OF_PROGRAMS
"""
# Takes about 30 s: a node is DOWN only after 6 s of silence, a killed leader is missed and its successor's grace
# is 8 s, a breaker opens after two failed requests, and a real Prometheus must have read three servers.

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import unittest
import urllib.request

from watching import BIN, LIMIT_SECONDS, ROOT, eventually, fetch, fetch_json, status_of

MONITORING = ROOT / "packaging" / "monitoring"

SERVER_OPTIONS = [
    "--insecure", "--limits", "off", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0",
    "--heartbeat-interval", "500ms", "--heartbeat-batch-interval", "200ms",
    "--suspect-timeout", "4s", "--down-timeout", "6s", "--leader-grace-period", "8s",
    "--log-format", "json",
]


class Server:
    """One musterd; its ports are its own choice, and told on standard output."""

    def __init__(self, folder, name):
        self.name = name
        self.log = folder / f"{name}.log"
        self.errors = self.log.open("w", encoding="utf-8")
        self.process = subprocess.Popen(
            [BIN / "musterd", "--id", name, "--engine", f"file://{folder}/store", *SERVER_OPTIONS],
            stdout=subprocess.PIPE, stderr=self.errors, text=True)
        told = self.process.stdout.readline() + self.process.stdout.readline()
        where = re.search(r"gRPC on (\S+).*page and metrics on (http://\S+?)/?\n", told, re.S)
        if not where:
            self.end()
            raise AssertionError(f"{name} did not start: {self.log.read_text(encoding='utf-8')}")
        self.grpc, self.http = where.groups()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class Events(threading.Thread):
    """Listens to /api/events and keeps what it heard."""

    def __init__(self, url, last=None):
        super().__init__(daemon=True)
        headers = {"Last-Event-ID": str(last)} if last else {}
        self.stream = urllib.request.urlopen(
            urllib.request.Request(url + "/api/events", headers=headers), timeout=LIMIT_SECONDS)
        self.heard = []
        self.start()

    def run(self):
        name, number = None, None
        try:
            for raw in self.stream:
                line = raw.decode().rstrip("\n")
                if line.startswith("event: "):
                    name, number = line[7:], None
                elif line.startswith("id: "):
                    number = int(line[4:])
                elif line.startswith("data: "):
                    self.heard.append((name, number, json.loads(line[6:])))
        except (OSError, ValueError):
            pass  # The server is gone, which is part of the test.

    def of(self, name):
        return [data for event, _, data in list(self.heard) if event == name]


class ObserveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="muster-observe-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.servers, cls.children = [], []
        # Whatever fails, no process stays behind.
        cls.addClassCleanup(cls.end_all)
        for i in (1, 2, 3):
            cls.servers.append(Server(cls.folder, f"s{i}"))
        for node in ("o1", "o2", "o3"):
            cls.children.append(subprocess.Popen(
                [BIN / "muster", "node", "register", node, "--address", "10.0.0.1", "--port",
                 str(7000 + len(cls.children)), "--keep-alive", "--heartbeat-interval", "500ms",
                 "--server", ",".join(s.grpc for s in cls.servers)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        eventually("three active nodes", lambda: cls.overview()["counts"]["active"] == 3)

    @classmethod
    def end_all(cls):
        for child in cls.children:
            child.kill()
            child.wait()
        for server in cls.servers:
            server.end()

    @classmethod
    def living(cls):
        return [s for s in cls.servers if s.process.poll() is None]

    @classmethod
    def overview(cls):
        return fetch_json(cls.living()[-1].http + "/api/overview")

    @classmethod
    def leader(cls):
        name = eventually("a leader", lambda: cls.overview()["cluster"]["leader"])["id"]
        return next(s for s in cls.servers if s.name == name)

    def muster(self, *words, code=0):
        servers = ",".join(s.grpc for s in self.living())
        done = subprocess.run([BIN / "muster", *words, "--server", servers], text=True,
                              capture_output=True, timeout=LIMIT_SECONDS, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def test_0_a_request_that_names_another_machine_is_refused(self):
        for path in ("/healthz", "/api/overview", "/metrics", "/"):
            status, text = status_of(self.servers[0].http + path, headers={"Host": "evil.example"})
            self.assertEqual(status, 403, path)
            self.assertIn("use the host localhost", text)
        for own in ("localhost", "LOCALHOST:9002", "[::1]:9002", "[0:0:0:0:0:0:0:1]"):
            self.assertEqual(status_of(self.servers[0].http + "/healthz", headers={"Host": own})[0], 200, own)

    def test_1_every_server_shows_the_same(self):
        for server in self.living():
            answer = eventually("ready", lambda s=server: fetch_json(s.http + "/readyz"))
            self.assertEqual(answer, {"ready": True})
            self.assertEqual(status_of(server.http + "/healthz")[0], 200)
            nodes = eventually("its nodes", lambda s=server: [
                n for n in fetch_json(s.http + "/api/nodes")["nodes"] if n["state"] == "active"
            ])
            self.assertEqual([n["id"] for n in nodes], ["o1", "o2", "o3"])
            self.assertAlmostEqual(sum(n["share"] for n in nodes), 1, places=6)
        roles = eventually("all seen", lambda: [
            s["role"] for s in self.overview()["servers"]
            if sorted(x["role"] for x in self.overview()["servers"])
            == ["follower", "follower", "leader"]])
        self.assertEqual(len(roles), 3)
        ring = fetch_json(self.leader().http + "/api/ring")
        self.assertEqual(len(ring["points"]), 48)
        plan = fetch_json(self.leader().http + "/api/ring/plan?remove=o1")
        self.assertTrue(all(move["from"] == "o1" for move in plan["moves"]))
        self.assertAlmostEqual(plan["movedShare"],
                               next(n["share"] for n in ring["nodes"] if n["id"] == "o1"), places=6)

    def test_2_wrong_requests_are_refused_in_a_sentence(self):
        base = self.leader().http
        for path, code in (("/api/nothing", 404), ("/api/nodes?sort=colour", 400),
                           ("/api/nodes?state=zz", 400), ("/api/nodes?type=zz", 400),
                           ("/api/ring/plan", 400), ("/api/ring/plan?remove=zz", 400),
                           ("/api/ring/plan?add=o1", 400), ("/assets/none.js", 404),
                           ("/api/node/o%2/explain", 400), ("/api/node/%6F1/explain", 200),
                           ("/api/node/nobody/explain", 404)):
            status, text = status_of(base + path)
            self.assertEqual(status, code, path)
            self.assertTrue(code == 200 or json.loads(text)["error"], path)
        self.assertEqual(status_of(base + "/api/overview", "POST")[0], 405)

    def test_3_a_real_prometheus_reads_every_metric(self):
        table = re.findall(r"^\| `([a-z_]+)` \| (counter|gauge|histogram) \| (.*) \|$",
                           (ROOT / "docs" / "observing.md").read_text(encoding="utf-8"), re.M)
        self.assertGreater(len(table), 30)
        targets = [s.http.removeprefix("http://") for s in self.living()]
        config = self.folder / "prometheus.yml"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(MONITORING / "alerts.yml")],
            "scrape_configs": [{"job_name": "muster", "static_configs": [{"targets": targets}]}],
        }), encoding="utf-8")
        log = self.folder / "prometheus.log"
        with log.open("w", encoding="utf-8") as out:
            prometheus = subprocess.Popen(
                ["prometheus", f"--config.file={config}", "--web.listen-address=127.0.0.1:0",
                 f"--storage.tsdb.path={self.folder}/tsdb"], stdout=out, stderr=out)
        try:
            where = eventually("its address", lambda: re.search(
                r"Listening on\D*address=(\S+)", log.read_text(encoding="utf-8")))
            api = f"http://{where.group(1)}/api/v1"
            eventually("three targets up", lambda: len(
                [t for t in fetch_json(api + "/targets")["data"]["activeTargets"]
                 if t["health"] == "up"]) == 3)
            told = eventually("metadata", lambda: fetch_json(api + "/metadata")["data"])
            for name, kind, text in table:
                if name.startswith("muster_tls_") and name.endswith("_seconds"):
                    continue  # Only with certificates.
                self.assertIn(name, told)
                self.assertEqual({m["type"] for m in told[name]}, {kind}, name)
                self.assertEqual({m["help"] for m in told[name]}, {text}, name)
            # A real query: the servers agree on who leads.
            result = fetch_json(api + "/query?query=sum(muster_raft_role%7Brole%3D%22leader%22%7D)")
            self.assertEqual(result["data"]["result"][0]["value"][1], "1")
            rules = fetch_json(api + "/rules")["data"]["groups"][0]["rules"]
            self.assertTrue(all(rule["health"] in ("ok", "unknown") for rule in rules))
        finally:
            prometheus.terminate()
            prometheus.wait()

    def test_4_a_request_is_followed_to_its_entry(self):
        leader = self.leader()
        done = subprocess.run([BIN / "muster", "server", "log-level", "debug", "--server",
                               leader.grpc, "--json"], text=True, capture_output=True, check=True)
        self.assertEqual(json.loads(done.stdout), {"level": "debug", "previous": "info"})
        self.muster("node", "drain", "o3")
        self.muster("node", "undrain", "o3")
        lines = eventually("the line", lambda: [
            line for line in map(json.loads, leader.log.read_text(encoding="utf-8").splitlines())
            if line["message"] == "request settled" and line["command"] == "SetDrain"])
        self.assertTrue(lines[0]["request"])
        self.assertGreater(int(lines[0]["index"]), 0)
        self.assertEqual(lines[0]["outcome"], "applied")

    def test_5_a_node_that_dies_is_explained(self):
        events = Events(self.leader().http)
        eventually("hello", lambda: events.of("hello"))
        self.children[0].kill()
        self.children[0].wait()
        eventually("o1 down", lambda: self.overview()["counts"]["down"] == 1)
        eventually("told live", lambda: [d for d in events.of("decision")
                                         if d["subject"] == "o1" and d["to"] == "down"])
        eventually("its row", lambda: [r for c in events.of("change") for r in c["upserts"]
                                       if r["id"] == "o1" and r["state"] == "down"])
        eventually("a sample", lambda: events.of("sample"))
        timeline = fetch_json(self.leader().http + "/api/node/o1/explain")["timeline"]
        # A machine under load may have suspected it before.
        self.assertEqual([d["to"] for d in timeline[:2]], ["joining", "active"])
        self.assertEqual([d["to"] for d in timeline[-2:]], ["suspect", "down"])
        self.assertIn("no heartbeat for", timeline[-2]["text"])
        self.assertIn("allowed by the brake", timeline[-1]["text"])
        text = self.muster("node", "explain", "o1")
        self.assertIn("o1 is DOWN", text)
        told = json.loads(self.muster("node", "explain", "o1", "--json"))
        down = told["decisions"][-1]
        self.assertGreaterEqual(down["silence_ms"], down["down_after_ms"])
        self.assertGreaterEqual(down["listened_ms"], down["grace_ms"])
        self.muster("node", "explain", "nobody", code=1)
        # Anyone who comes back is told what it missed.
        again = Events(self.leader().http, last=timeline[0]["seq"])
        eventually("missed ones", lambda: [d for d in again.of("decision") if d["to"] == "down"])
        metrics = fetch(self.leader().http + "/metrics")
        self.assertIn('muster_node_transitions_total{from="SUSPECT",to="DOWN"} ', metrics)
        self.assertIn('coordinator_nodes_by_state{state="DOWN"} 1', metrics)

    def test_6_a_leader_that_dies_is_explained_by_the_next(self):
        def told(text):
            found = fetch_json(self.living()[-1].http + "/api/decisions?q=leads")["decisions"]
            return [d["text"] for d in found if text in d["text"]]

        old = self.leader()
        old.process.send_signal(signal.SIGKILL)
        old.process.wait()
        eventually("why it leads no more", lambda: told(f"{old.name} was no longer heard"))
        new = eventually("another leader", lambda: (
            self.overview()["cluster"]["leader"]["id"] != old.name and self.leader()))
        self.assertIn(new.name + " leads the servers", self.overview()["cluster"]["leader"]["why"])
        # The servers' own election has the events of any other, in the log and as metrics.
        seen = [json.loads(line) for line in new.log.read_text(encoding="utf-8").splitlines()]
        self.assertIn(("leader_down", old.name),
                      [(line["message"], line.get("former_leader")) for line in seen])
        self.assertIn("became_leader", [line["message"] for line in seen if line.get("node") == new.name])
        metrics = fetch(new.http + "/metrics")
        self.assertRegex(metrics, r'muster_candidate_leader_down_total\{cause="expired"\} [1-9]')
        # What nobody has told the new leader is not known, rather than 0.
        row = eventually("what is known of the old one", lambda: [
            s for s in fetch_json(new.http + "/api/overview")["servers"]
            if s["id"] == old.name and s["role"] in ("unknown", "unreachable")])[0]
        self.assertEqual((row["appliedIndex"], row["lagEntries"]), (None, None))
        new.process.terminate()
        self.assertEqual(new.process.wait(timeout=LIMIT_SECONDS), 0)
        eventually("why it leads no more",
                   lambda: told(f"{new.name} handed over; it was asked to stop"))

    def test_7_a_recording_is_replayed(self):
        file = self.folder / "record.jsonl"
        told = json.loads(self.muster("record", str(file), "--json"))
        self.assertGreater(told["decisions"], 10)
        done = subprocess.run([BIN / "sim_membership", "--replay", str(file)], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        # A replay that cannot fail would be worth nothing.
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace('"cause":"silence"', '"cause":"heartbeat"', 1), encoding="utf-8")
        done = subprocess.run([BIN / "sim_membership", "--replay", str(file)], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)

    def test_8_elections_in_the_store_are_explained(self):
        arbiter = "muster://" + ",".join(s.grpc for s in self.living())
        worker = subprocess.Popen(
            [BIN / "muster", "worker", "--arbiter", arbiter, "--namespace", "jobs", "--id", "w1",
             "--startup-jitter-max", "0s", "--http", "127.0.0.1:0", "--json"],
            stdout=subprocess.PIPE, text=True)
        try:
            first = json.loads(worker.stdout.readline())
            base = f"http://{first['address']}:{first['port']}"
            rows = eventually("the namespace", lambda: [
                n for n in fetch_json(self.living()[0].http + "/api/namespaces")["namespaces"]
                if n["leader"] == "w1"])
            self.assertEqual(rows[0]["name"], "jobs")
            self.assertGreater(rows[0]["leaseLeftMs"], 0)
            text = eventually("its metrics", lambda: fetch(base + "/metrics"))
            self.assertIn('muster_coordinator_leader{namespace="jobs"} 1', text)
            done = subprocess.run([BIN / "muster", "explain", "--arbiter", arbiter, "--namespace",
                                   "jobs"], text=True, capture_output=True, check=True)
            self.assertIn("w1 leads namespace=jobs, epoch 1: there was no leader before", done.stdout)
            self.assertIn("w1 leads, epoch 1", done.stdout)
        finally:
            worker.terminate()
            worker.wait()
            worker.stdout.close()

    def test_8_workers_that_could_not_reach_the_store_tell_so(self):
        servers = self.living()
        arbiter = "muster://" + ",".join(s.grpc for s in servers)
        worker = subprocess.Popen(
            [BIN / "muster", "worker", "--arbiter", arbiter, "--namespace", "mail", "--id", "w2",
             "--startup-jitter-max", "0s", "--heartbeat-interval", "500ms", "--heartbeat-jitter", "0s",
             "--lease-timeout", "6s", "--worker-timeout", "8s",
             "--circuit-breaker-failure-threshold", "2", "--circuit-breaker-reset-timeout", "1s",
             "--http", "127.0.0.1:0", "--json"],
            stdout=subprocess.PIPE, text=True)
        try:
            first = json.loads(worker.stdout.readline())
            metrics = f"http://{first['address']}:{first['port']}/metrics"
            eventually("it leads", lambda: 'muster_coordinator_leader{namespace="mail"} 1' in
                       fetch(metrics))
            events = Events(servers[0].http)
            eventually("hello", lambda: events.of("hello"))
            try:
                for server in servers:
                    server.process.send_signal(signal.SIGSTOP)
                eventually("its breaker opens", lambda: re.search(
                    r'breaker_trips_total\{namespace="mail"\} [1-9]', fetch(metrics)))
            finally:
                for server in servers:
                    server.process.send_signal(signal.SIGCONT)
            told = eventually("it is on the timeline", lambda: [
                d for d in fetch_json(servers[0].http + "/api/decisions?q=w2%20of")["decisions"]
                if d["kind"] == "breaker"])
            self.assertEqual((told[0]["subject"], told[0]["to"]), ("namespace=mail", "w2"))
            self.assertRegex(told[0]["text"], (
                r"^w2 of namespace=mail reaches the store again; it could not from \d\d:\d\d:\d\d UTC "
                r"for [\d.]+s: \d+ heartbeats failed, and its breaker opened"))
            eventually("told live", lambda: [d for d in events.of("decision")
                                             if d["text"] == told[0]["text"]])
            done = subprocess.run([BIN / "muster", "explain", "--arbiter", arbiter, "--namespace",
                                   "mail"], text=True, capture_output=True, check=True)
            self.assertEqual(done.stdout.count(told[0]["text"]), 1, done.stdout)
            self.assertRegex(fetch(servers[0].http + "/metrics"),
                             r'muster_decisions_total\{kind="breaker"\} [1-9]')
        finally:
            worker.terminate()
            worker.wait()
            worker.stdout.close()

    def test_9_logs_are_json_and_alerts_are_tested(self):
        for server in self.servers:
            for line in server.log.read_text(encoding="utf-8").splitlines():
                self.assertLessEqual({"time", "level", "message", "server"}, json.loads(line).keys())
        subprocess.run(["promtool", "test", "rules", "alerts_test.yml"], cwd=MONITORING, check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["promtool", "check", "config", "prometheus.yml"], cwd=MONITORING, check=True,
                       stdout=subprocess.DEVNULL)
        alerts = set(re.findall(r"alert: (\w+)", (MONITORING / "alerts.yml").read_text("utf-8")))
        tested = (MONITORING / "alerts_test.yml").read_text("utf-8")
        fired = set(re.findall(r"alertname: (\w+)\n\s+exp_alerts:\n", tested))
        self.assertEqual(alerts, fired, "each alert is fired by a test")
        runbook = (ROOT / "docs" / "runbook.md").read_text("utf-8")
        entries = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", runbook, re.M | re.S))
        self.assertEqual(alerts, set(entries), "each alert has an entry")
        for alert, entry in entries.items():
            self.assertRegex(entry, r"(?s)\*\*Means:\*\* .*\*\*Look at:\*\* .*\*\*Do:\*\* ", alert)
        links = re.findall(r'alert: (\w+)\n(?:(?! +- alert).*\n)*? +runbook: "docs/runbook.md#(\w+)"',
                           (MONITORING / "alerts.yml").read_text("utf-8"))
        self.assertEqual({(alert, alert.lower()) for alert in alerts}, set(links), "and a link to it")


if __name__ == "__main__":
    os.environ.pop("MUSTER_CONFIG", None)
    unittest.main(verbosity=2)
