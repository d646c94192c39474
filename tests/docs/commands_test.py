#!/usr/bin/env python3
"""Runs the commands that the documents show, each with the exit code that it is to have, on real servers:
a directory, an etcd, a radosgw, musterd. Only places are put elsewhere; `cron`, `app` and `billing`, which
are the reader's, are stand-ins that note that they were started.

What is not run is named here with the reason. The runbook, docs/cron-on-s3.md, docs/client.md and the
console of README.md have tests of their own.

usage: commands_test.py DIRECTORY_OF_PROGRAMS
"""
# Takes about 60 s: a real radosgw and a real etcd start, and about twenty musterd and `muster run` after them;
# a node falls silent for 3 s, a lease of 2 s runs out and must stay so for another, and spin compiles a model.
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import yaml
from commands import Document, blocks, commands
from surroundings import KEYS, ROOT, bucket, etcd, free_port, postgres, wait_for

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
ELSEWHERE = {"docs/cron-on-s3.md": "cron_on_s3", "docs/client.md": "outside_modules", "docs/library.md": "outside_installed",
             "docs/writing-a-store.md": "outside_store",
             "docs/three-servers.md": "tests/packaging/three_servers_test.py, with the packages"}
STAND_IN = """#!/bin/sh
[ "$1" = migrate ] || echo $$ >"$NOTES.pid"
echo "${0##*/} $*" epoch "${MUSTER_EPOCH-none}" >>"$NOTES"
[ "$1" != migrate ] || exit 0
exec setpriv --pdeathsig KILL sleep 600
"""


class CommandsTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            cls.directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="muster-commands-"))
            cls.s3 = stack.enter_context(bucket(cls.directory))
            cls.etcd = stack.enter_context(etcd(cls.directory))
            cls.addClassCleanup(stack.pop_all().close)
        os.mkdir(f"{cls.directory}/bin")
        for name in ("cron", "app", "billing"):
            path = pathlib.Path(cls.directory, "bin", name)
            path.write_text(STAND_IN, encoding="utf-8")
            path.chmod(0o755)

    def setUp(self):
        self.place = f"{self.directory}/{self.id().rsplit('.', 1)[1]}"
        os.mkdir(self.place)
        self.server = f"127.0.0.1:{free_port()}"
        self.environment = {
            "PATH": f"{self.directory}/bin:{PROGRAMS}:/usr/bin:/bin", "HOME": self.place,
            "NOTES": f"{self.place}/notes", "MUSTER_ARBITER": f"file://{self.place}/arbiter",
            "MUSTER_POD": "vm", "MUSTER_STARTUP_JITTER_MAX": "0s", "NS": "app", "NODE": "n1",
            "MUSTER_SERVER": self.server, "MUSTER_LISTEN": self.server,
            "MUSTER_HTTP_LISTEN": "127.0.0.1:0", "ETCDCTL_ENDPOINTS": self.etcd,
            "AWS_ENDPOINT_URL_S3": self.s3, **KEYS}

    def document(self, name):
        places = [("file:///tmp/muster", f"file://{self.place}/tmp"),
                  ("etcd://h1:2379,h2:2379,h3:2379", f"etcd://{self.etcd}"),
                  ("etcd://127.0.0.1:2379", f"etcd://{self.etcd}"), ("http://127.0.0.1:7480", self.s3),
                  ("/var/lib/muster", f"{self.place}/state"), ("/srv/app", self.place),
                  ("/usr/local/share/man", f"{self.place}/man"),
                  ("muster://127.0.0.1:9000", f"muster://{self.server}"), (":9010", f":{free_port()}"),
                  ("/usr/bin/muster", "muster")]
        return Document(self, name, self.place, self.environment, places)

    def succeeds(self, *words):
        return subprocess.run(words, cwd=self.place, env=self.environment, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def notes(self):
        path = pathlib.Path(self.place, "notes")
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def noted(self, *lines):
        """A condition: these lines are new since the last time that one was asked for."""
        before = len(self.notes())
        return lambda: self.notes()[before:] == list(lines)

    def healthy(self):
        return self.succeeds("muster", "health")

    @contextlib.contextmanager
    def node(self, name):
        """The process that sends its heartbeats to a musterd."""
        server = ["musterd", "--dev", "--id", "s1", "--heartbeat-interval", "400ms",
                  "--heartbeat-batch-interval", "200ms", "--suspect-timeout", "3s", "--down-timeout", "10m"]
        node = ["muster", "node", "register", name, "--address", "10.0.0.7", "--port", "7000",
                "--keep-alive", "--heartbeat-interval", "400ms"]
        with self.background(server, ["muster", "health"]), \
                self.background(node, ["muster", "nodes", "--state", "active"]) as process:
            yield process

    @contextlib.contextmanager
    def background(self, words, ready):
        with subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *words], cwd=self.place,
                              env=self.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            try:
                wait_for(ready, lambda: self.succeeds(*ready))
                yield process
            finally:
                process.kill()

    def test_docs_troubleshooting(self):
        document = self.document("docs/troubleshooting.md")
        os.mkdir(f"{self.place}/arbiter")  # Of a store that nobody leads; a command that only reads makes none.
        document.run("muster leader", code=1)
        document.run("muster workers")
        document.run("muster probe")
        self.look_on(document)
        document.run("muster lint")
        with self.node("n1") as node:
            node.send_signal(signal.SIGSTOP)  # It is there, but nothing is heard of it.
            wait_for("the node is SUSPECT", lambda: self.succeeds("muster", "nodes", "--state", "suspect"))
            document.run("muster nodes --state suspect", prints="n1")
            document.run("muster node explain", prints="(?s)SUSPECT.*3s")
            document.run("muster health", prints="1 suspect")
        document.finish()

    def look_on(self, document):
        """Anyone who looks on beside a real leader never leads, not even when that leader is gone."""
        worker = ["muster", "worker", "--id", "w1", "--namespace", "app"]
        leads = ["muster", "leader", "--namespace", "app"]
        # What the document starts would take over as quickly, if it took part.
        quick = {"MUSTER_HEARTBEAT_INTERVAL": "300ms", "MUSTER_HEARTBEAT_JITTER": "0s",
                 "MUSTER_LEASE_TIMEOUT": "2s", "MUSTER_WORKER_TIMEOUT": "4s"}
        self.environment.update(quick)
        with self.background(worker, leads) as leader, \
                document.running("muster leader", lambda: '"leader":"w1"' in document.so_far(), code=0):
            document.run("muster explain", prints="^w1 leads, epoch 1")
            leader.kill()
            wait_for("the watcher saw it go", lambda: '"leader":null' in document.so_far())
            for _ in range(30):  # More than another lease.
                self.assertFalse(self.succeeds(*leads), "someone leads")
                time.sleep(0.1)
            workers = subprocess.run(["muster", "workers", "--namespace", "app", "--json"], text=True,
                                     env=self.environment, stdout=subprocess.PIPE, check=True).stdout
            self.assertEqual(set(re.findall('"id":"(.*?)"', workers)), {"w1"}, "it takes part")
        for name in quick:
            del self.environment[name]
        self.assertEqual(set(re.findall('"leader":(.*?),', document.printed)), {'"w1"', "null"})
        self.assertEqual(set(re.findall('"epoch":(.*?),', document.printed)), {"1"})

    def test_docs_choosing(self):
        document = self.document("docs/choosing.md")
        document.run("muster probe --arbiter 's3://")
        document.run("muster lint --workers 3")
        document.run("muster lint --workers 100")
        document.run("muster lint --lease-timeout 3s", code=64)
        document.finish()

    def test_docs_migration(self):
        document = self.document("docs/migration.md")
        with document.running("etcdctl lock", self.noted("cron -f epoch none"), code=-signal.SIGKILL,
                              end=signal.SIGKILL):  # It ends with its command only.
            pass
        with document.running("muster run", self.noted("cron -f epoch 1"), code=143):
            pass
        document.finish()

    def test_docs_run(self):
        document = self.document("docs/run.md")
        with document.running("muster run", self.noted("cron -f epoch 1"), code=143):
            pass
        with document.running("muster run", self.noted("cron -f epoch 2"), code=143):
            # --restart permanent: what ends is started again.
            again = self.noted("cron -f epoch 2")
            os.kill(int(pathlib.Path(self.place, "notes.pid").read_text(encoding="utf-8")), signal.SIGTERM)
            wait_for("the command runs again", again)
        document.leave("muster run --check", "what it prints is about the machine that it runs on")
        checked = subprocess.run(["muster", "run", "--check"], text=True, env=self.environment,
                                 stdout=subprocess.PIPE, check=True).stdout
        self.assertRegex(checked, "^Protected by .*\nNot protected:\n")
        document.finish()
        (unit,) = [block for _, block in blocks(document.text, "ini")]
        start = re.search("^ExecStart=(.*)$", unit, re.M)[1]
        success = int(re.search("^SuccessExitStatus=(.*)$", unit, re.M)[1])
        with document.started(start, self.noted("cron -f epoch 3"), code=success):
            pass
        self.follow_files(document)

    def follow_files(self, document):
        """What docs/run.md has for files: several commands, and the container of a Deployment."""
        yamls = [block for _, block in blocks(document.text, "yaml")]
        (several,) = [block for block in yamls if block.startswith("strategy:")]
        path = pathlib.Path(self.place, "commands.yaml")
        path.write_text(document.elsewhere(several), encoding="utf-8")
        both = self.noted("app migrate epoch 1", "app serve --port 8080 epoch 1")
        with document.started(f"muster run --name several --commands {path}", both, code=143):
            pass
        (deployment,) = [yaml.safe_load(block) for block in yamls if "kind: Deployment" in block]
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        values = {each["name"]: each.get("value", "billing-0") for each in container["env"]}
        with document.started(" ".join(container["command"]), self.noted("billing --serve epoch 1"), code=143,
                              **values):
            pass

    def test_docs_coordinator(self):
        document = self.document("docs/coordinator.md")
        document.run("muster probe")
        arbiter = ["--arbiter", document.elsewhere("file:///tmp/muster")]
        second = ["muster", "worker", "--id", "w2", *arbiter]
        listed = ["bash", "-c", f"muster workers {' '.join(arbiter)} | grep 'w2 *live'"]
        with document.running("muster worker", lambda: self.succeeds("muster", "leader", *arbiter), code=0), \
                self.background(second, listed):
            document.run("muster leader")
            document.run("muster workers")
            document.run("curl -s")
        (file,) = [block for _, block in blocks(document.text, "yaml") if block.startswith("arbiter:")]
        pathlib.Path(self.place, "worker.yaml").write_text(file, encoding="utf-8")
        document.run("muster lint --config worker.yaml")
        document.run("MUSTER_LEASE_TIMEOUT=5s muster lint", code=64)
        document.run("source <(muster completion bash)")
        document.run("muster man worker", prints="--lease-timeout")
        document.run("muster man --dir")
        document.run("example_simulate careless", code=1, exactly=True)
        document.run("example_simulate careful", exactly=True)
        document.finish()

    def test_docs_observing(self):
        document = self.document("docs/observing.md")
        jobs = ["--arbiter", f"muster://{self.server}", "--namespace", "jobs"]
        with self.node("o1"), self.background(["muster", "worker", "--id", "w1", *jobs],
                                              ["muster", "leader", *jobs]):
            document.run("muster node explain", prints="ACTIVE")
            document.run("muster explain", prints="w1")
            document.run("muster record")
        document.finish()
        self.assertTrue(os.path.getsize(f"{self.place}/decisions.jsonl"))

    def test_docs_runbook(self):
        document = self.document("docs/runbook.md")
        with self.node("r1"):
            document.run("muster health", prints="healthy")
            document.run("muster server list", prints="leader")
        document.finish()

    def test_docs_http(self):
        document = self.document("docs/http.md")
        http = f"127.0.0.1:{free_port()}"
        self.environment["MUSTER_HTTP_LISTEN"] = http
        leader = ["muster", "worker", "--arbiter", f"muster://{self.server}", "--namespace", "cron", "--id", "w1"]
        leads = ["muster", "leader", "--arbiter", f"muster://{self.server}", "--namespace", "cron"]
        with self.node("r1"), self.background(leader, leads):
            for _, block in blocks(document.text, "sh"):
                # A watch goes on until it is ended.
                here = block.replace("localhost:9002", http).replace("curl -sN", "timeout 2 curl -sN")
                done = subprocess.run(["bash", "-uc", here], cwd=self.place, env=self.environment, check=False,
                                      capture_output=True, text=True)
                self.assertEqual(done.stderr, "", block)
                self.assertTrue(done.stdout, block)
                self.assertNotIn('"error"', done.stdout, block)
                self.assertIn(done.returncode, (0, 124), block)

    def test_docs_postgres(self):
        document = self.document("docs/postgres.md")
        roles = ["CREATE ROLE owner LOGIN CREATEROLE", "CREATE ROLE app LOGIN", "CREATE DATABASE app OWNER owner"]
        with postgres(roles) as server:
            document.places.append(("@db.example", f"@{server}"))
            document.run("muster postgres init")
            document.run("muster probe")
            with document.running("muster run", self.noted("cron -f epoch 1"), code=143):
                pass
        document.finish()

    def test_docs_security(self):
        document = self.document("docs/security.md")
        for program in ("etcd --client-cert-auth", "musterd --id s1 --listen h1.example"):
            document.leave(program, "hosts by these names; test_musterd_tls starts both on loopback")
        document.run("muster certs init")
        for role in ("server", "node", "agent", "admin"):
            document.run(f"muster certs issue  --dir pki --role {role}")
        document.run("muster certs revoke")
        document.run("muster certs issue  --dir pki --role node")
        document.run("muster certs crl")
        document.run("openssl verify", prints="OK")
        document.run("openssl crl", prints="verify OK")
        document.finish()
        self.assertTrue(os.path.exists(f"{self.place}/pki/op.p12"))

    def test_docs_page(self):
        document = self.document("docs/page.md")
        self.assertTrue(self.succeeds("muster", "certs", "init", "--dir", "D"))
        document.run("muster certs issue --dir D")
        self.assertTrue(os.path.exists(f"{self.place}/D/alice.p12"))
        document.leave("./dev test page", "the tests of the page are beside this one")
        document.leave("ls build/screenshots", "what those tests leave behind")
        document.finish()

    def test_docs_operating(self):
        document = self.document("docs/operating.md")
        document.leave("./dev run", "builds, and then is the next line")
        for start in ("--dev", "--insecure --id s1 --engine file:", "--insecure --id s1 --engine etcd:",
                      "--insecure --id s1 --engine 's3:"):
            with document.running(f"musterd {start}", self.healthy, code=0):
                pass
        command, _ = document.take("musterd --id s1 --engine managed")
        self.containers(document)
        document.finish()
        self.three_servers(document, command)

    def containers(self, document):
        """There is no cluster and no registry; tests/packaging/container_test.py compares the names in these
        commands with the manifest, and pods_test.py runs its pods."""
        document.leave("./dev package", "builds first; the suite packages does it")
        document.leave(". /etc/os-release", "for the next line")
        document.leave("podman build", "needs a registry")
        document.leave("kubectl apply", "needs a cluster")
        document.leave("for n in 0 1 2; do kubectl rollout status", "needs a cluster")
        for words in ("init", "crl"):
            self.assertTrue(self.succeeds("muster", "certs", words, "--dir", "tls"))
        document.run("muster certs issue --dir tls")
        document.leave("kubectl port-forward", "needs a cluster")
        document.leave("muster health --server", "needs the line before")
        document.run("muster certs revoke --dir tls")
        command, _ = document.take("kubectl create configmap musterd-ca ")
        for file in re.findall(r"--from-file=\S+=(\S+)", command):
            self.assertTrue(pathlib.Path(self.place, file).is_file(), file)
        document.leave("for n in 0 1 2; do kubectl set image", "needs a cluster")

    def three_servers(self, document, command):
        """The same line on each of three machines, for each with its own name and address."""
        addresses = {f"h{n}.example:{port}": f"127.0.0.1:{free_port()}"
                     for n in "123" for port in (9000, 9001)}
        certificates = ["init", *(f"issue --role server --id s{n} --san 127.0.0.1" for n in "123"),
                        "issue --role admin --id op", "crl"]
        for words in certificates:
            self.assertTrue(self.succeeds("muster", "certs", *words.split(), "--dir", "."), words)

        def on(n):
            line = re.sub(r"--id s1\b", f"--id s{n}", command.replace("/var/lib/muster", f"data-s{n}"))
            line = re.sub(r"\bs1\.(crt|key)", rf"s{n}.\1", line).replace("--listen h1", f"--listen h{n}")
            for printed, here in addresses.items():
                line = line.replace(printed, here)
            return line

        ask = ["muster", "health", "--cacert", "ca.crt", "--cert", "op.crt", "--key", "op.key", "--server",
               addresses["h3.example:9000"]]
        with contextlib.ExitStack() as stack:
            for n in "12":
                # They wait for the third.
                stack.enter_context(document.started(on(n), lambda: True, code=0))
            stack.enter_context(document.started(on("3"), lambda: self.succeeds(*ask), code=0))

    def test_docs_managed_engine(self):
        document = self.document("docs/managed-engine.md")
        command, _ = document.take("musterd --id s1 --engine managed")
        document.finish()
        # test_docs_operating starts three servers by it.
        self.assertIn([command, None], self.document("docs/operating.md").left)

    def test_docs_model_readme(self):
        document = self.document("docs/model/README.md")
        shutil.copy(ROOT / "docs/model/election.pml", self.place)
        for found in ("errors: 0", "errors: 1"):
            document.run("spin -a")
            document.run("gcc")
            document.run("./pan", prints=found)
        document.run("spin -t", prints="(?s)assertion violated.*spin: trail ends")
        document.finish()

    def test_readme(self):
        document = self.document("README.md")
        for words in ("./dev run", "./dev demo", "./dev build", "./dev test"):
            document.leave(words, "builds first; the test demo takes what it does afterwards")
        document.leave("apt install", "tests/packaging/chroot_test.sh installs the packages")
        self.assertTrue(all(shown is not None for _, shown in document.left), "documents_test.py has these")

    def test_no_document_is_forgotten(self):
        for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            name = str(path.relative_to(ROOT))
            test = "test_" + re.sub(r"\W", "_", name.removesuffix(".md").lower())
            if commands(path.read_text(encoding="utf-8")) and name not in ELSEWHERE:
                self.assertTrue(hasattr(self, test), f"nobody follows {name}")


unittest.main(argv=sys.argv[:1], verbosity=2)
