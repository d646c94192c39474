#!/usr/bin/env python3
"""Holds what `--json` prints: every command against real stores and servers, its answers compared with
json_golden.txt line by line, and their fields with docs/json.md.

What differs from run to run (times, ids that are made up, ports, directories) is masked first.
`json_test.py PROGRAMS --write` writes the golden file anew; read the difference before you commit it.
"""
# Takes about 14 s: about 50 commands run one after another beside real processes, with the default timings:
# a node is ACTIVE after its first heartbeat was batched, and a step-down is followed by another term.
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = pathlib.Path(__file__).with_name("json_golden.txt")
LIMIT_SECONDS = 60

# Numbers and texts of these names are of this run, and masked; a null stays a null.
VARIES = {
    "time", "ageMs", "leaseLeftMs", "age_ms", "silent_ms", "last_heartbeat_at", "registered_at",
    "state_since", "announced_at", "generation_id", "incarnation", "pod", "log_id", "bytes", "serial",
    "serials", "expires", "nextUpdate", "p12Password", "subject", "pid", "durationMs", "latencyMs",
    "previousLeaseEnd", "committed_index", "applied_index", "sealed_index", "head", "objects", "reason",
    "watch_subscribers", "at", "text", "silence_ms", "listened_ms", "newest", "seq", "sentences",
}


def masked(value, name=""):
    if isinstance(value, dict):
        return {key: masked(each, key) for key, each in value.items()}
    counted = name == "decisions" and isinstance(value, int)
    if (name in VARIES or counted) and value not in (None, "", []):
        return f"<{type(value).__name__}>"
    if isinstance(value, list):
        return [masked(each) for each in value]
    return value


def fields(value):
    """The names in a JSON value with their places, such as workers[].id."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from (f"{key}.{inner}" for inner in fields(each))
    elif isinstance(value, list):
        for each in value:
            yield from (f"[].{inner}" for inner in fields(each))


class Session:
    """Commands one after the other, and what they printed."""

    def __init__(self, directory):
        self.directory = directory
        self.lines = []
        self.answers = []
        self.children = []
        self.server = None
        self.environment = {"PATH": os.environ["PATH"], "HOME": directory}

    def plain(self, text):
        text = text.replace(self.directory, "DIR")
        if self.server:
            text = text.replace(self.server, "SERVER")
        return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uuid>", text)

    def note(self, words, output, code):
        self.lines.append(self.plain(f"$ muster {' '.join(words)}"))
        for line in output.splitlines():
            answer = json.loads(line)
            self.answers.append(answer)
            self.lines.append(self.plain(json.dumps(masked(answer))))
        if code != 0:
            self.lines.append(f"exit {code}")

    def start(self, words, output):
        with open(f"{self.directory}/{output}", "wb") as out:
            child = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *words], stdout=out,
                                     stderr=subprocess.STDOUT, env=self.environment)
        self.children.append(child)
        return child

    def read(self, output):
        return pathlib.Path(self.directory, output).read_text(encoding="utf-8")

    def await_text(self, output, pattern):
        limit = time.monotonic() + LIMIT_SECONDS
        while not (found := re.search(pattern, self.read(output))):
            assert time.monotonic() < limit, f"no {pattern!r} in {output}: {self.read(output)}"
            time.sleep(0.02)
        return found

    def muster(self, *words):
        done = subprocess.run([PROGRAMS / "muster", *words, "--json"], timeout=LIMIT_SECONDS,
                              check=False, cwd=self.directory, env=self.environment,
                              capture_output=True, text=True)
        assert done.returncode in (0, 1), (words, done.returncode, done.stdout, done.stderr)
        self.note(words, done.stdout, done.returncode)

    def during(self, words, waits_for, action=lambda: None, stop=signal.SIGTERM, only=None):
        """A command that goes on: started, awaited, and stopped after `action`."""
        name = f"out{len(self.children)}"
        own = words.index("--") if "--" in words else len(words)
        child = self.start([PROGRAMS / "muster", *words[:own], "--json", *words[own:]], name)
        self.await_text(name, waits_for)
        action()
        if stop:
            child.send_signal(stop)
        code = child.wait(timeout=LIMIT_SECONDS)
        kept = [line for line in self.read(name).splitlines()
                if only is None or re.search(only, line)]
        self.note(words, "\n".join(kept), code)

    def end(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait()


def elections(s):
    arbiter = ["--arbiter", f"file://{s.directory}/e"]
    s.muster("lint", "--workers", "100")
    s.muster("probe", *arbiter)
    s.muster("leader", *arbiter)
    timings = ["--startup-jitter-max", "0s"]

    def look():
        s.muster("leader", *arbiter)
        s.muster("workers", *arbiter)
        s.muster("elections", *arbiter)
        s.muster("explain", *arbiter)
        s.during(["leader", "--watch", *arbiter], "epoch")
        s.during(["workers", "--watch", *arbiter], "epoch")

    s.during(["worker", *arbiter, "--id", "w1", *timings], "term:began", look,
             only="term:|leader:changed")
    run = [*arbiter, "--name", "job"]

    def obey():
        for command in ("step-down", "pause"):
            s.muster(command, *run)
            if command == "step-down":
                s.await_text(name, '"epoch":2.*(\n.*)*child_started')
        s.muster("resume", *run)
        s.await_text(name, '"epoch":3.*(\n.*)*child_started')

    name = f"out{len(s.children)}"
    s.during(["run", *run, "--id", "n1", "--", "sleep", "600"],
             "child_started", obey, only='became_leader|lost_leadership|child_|"exit"|command')


def certificates(s):
    s.muster("certs", "init", "--dir", "pki")
    s.muster("certs", "issue", "--dir", "pki", "--role", "admin", "--id", "op", "--p12")
    s.muster("certs", "revoke", "--dir", "pki", "--id", "op")
    s.muster("certs", "crl", "--dir", "pki")


def topology(s):
    musterd = s.start([PROGRAMS / "musterd", "--engine", f"file://{s.directory}/store", "--id", "s1",
                       "--insecure", "--limits", "off", "--listen", "127.0.0.1:0",
                       "--data-dir", s.directory], "musterd")
    s.server = s.await_text("musterd", r"gRPC on (\S+)")[1]
    s.await_text("musterd", "leading")
    s.environment["MUSTER_SERVER"] = s.server
    place = ["--address", "10.0.0.1", "--port", "7000"]

    def life():
        s.during(["node", "register", "a", *place, "--keep-alive"], "registered",
                 lambda: s.await_text(watch, "ACTIVE") and looks(s))

    watch = f"out{len(s.children)}"
    s.during(["topology", "--watch"], "snapshot",
             lambda: (life(), s.await_text(watch, "node_removed")))
    s.muster("node", "register", "b", *place)
    s.muster("node", "drain", "b")
    s.muster("node", "undrain", "b")
    s.muster("node", "remove", "b")
    s.muster("ring", "set", "--replication-factor", "2")
    s.muster("server", "transfer")
    s.await_text("musterd", "epoch=2")
    s.muster("backup", "whole.backup")
    s.muster("move", "--to", f"file://{s.directory}/moved")
    musterd.wait(timeout=LIMIT_SECONDS)
    s.muster("restore", "whole.backup", "--engine", f"file://{s.directory}/restored")
    s.muster("log", "inspect", "--engine", f"file://{s.directory}/restored")


def looks(s):
    s.muster("topology")
    s.muster("nodes", "--type", "object")
    s.during(["nodes", "--watch"], "version")
    s.muster("ring", "lookup", "hello")
    s.muster("ring", "plan", "--add", "b")
    s.muster("health")
    s.muster("server", "list")
    s.muster("server", "add", "s2")
    s.muster("server", "log-level", "info")
    s.muster("node", "explain", "a")
    s.muster("record", "decisions.jsonl")


def examples(text):
    """Every JSON object that the document shows."""
    text = re.sub(r"\n +(?=\S)", " ", text)  # An object may go over several lines.
    text = re.sub(r"(?<=,)\n", " ", text)
    decoder = json.JSONDecoder()
    for start in (found.start() for found in re.finditer(r'\{"', text)):
        sample = text[start:].replace(":…", ":null").replace("[…]", "[]")
        try:
            yield decoder.raw_decode(sample)[0]
        except json.JSONDecodeError:
            continue


def check_document(answers):
    """The document shows or names each field that is printed."""
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    shown = set(itertools.chain.from_iterable(map(fields, examples(text))))
    shown |= {name.split(".")[-1] for name in shown} | set(re.findall(r"`([A-Za-z0-9_]+)`", text))
    missing = {name for answer in answers for name in fields(answer)
               if name not in shown and name.split(".")[-1] not in shown}
    # The events of a worker are those of the library, which has a document of its own.
    library = (ROOT / "docs" / "coordinator.md").read_text(encoding="utf-8")
    missing = {name for name in missing if name.split(".")[-1] not in library}
    assert not missing, f"docs/json.md does not tell of {sorted(missing)}"


def main():
    with tempfile.TemporaryDirectory(prefix="muster-json-") as directory:
        session = Session(directory)
        try:
            elections(session)
            certificates(session)
            topology(session)
        finally:
            session.end()
    check_document(session.answers)
    seen = "\n".join(session.lines) + "\n"
    if "--write" in sys.argv:
        GOLDEN.write_text(seen, encoding="utf-8")
        return
    wanted = GOLDEN.read_text(encoding="utf-8")
    if seen != wanted:
        import difflib
        sys.stdout.writelines(difflib.unified_diff(wanted.splitlines(True), seen.splitlines(True),
                                                   "json_golden.txt", "seen"))
        sys.exit("what --json prints has changed")


main()
