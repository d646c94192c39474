#!/usr/bin/env python3
"""Follows docs/cron-on-s3.md on two machines that share a bucket of a real S3 (radosgw): its commands as
they stand, with the address of that S3 in the place of AWS's.

usage: cron_on_s3_test.py DIRECTORY_OF_PROGRAMS
"""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
KEYS = {"AWS_ACCESS_KEY_ID": "muster-test-key", "AWS_SECRET_ACCESS_KEY": "muster-test-secret"}
PATIENCE_SECONDS = 90


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


@contextlib.contextmanager
def bucket(directory):
    port, monitor = free_port(), free_port()
    server = subprocess.Popen([ROOT / "tools/testing/radosgw.sh", "serve", f"{directory}/s3", str(port),
                               str(monitor)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, **KEYS, "MUSTER_S3_BUCKET": "bucket"})
    try:
        assert server.stdout.readline().strip() == "ready", "radosgw did not start"
        yield f"s3://bucket/cron?endpoint=http://127.0.0.1:{port}&region=us-east-1&style=path"
    finally:
        server.stdin.close()
        server.wait(timeout=60)


def blocks():
    text = (ROOT / "docs/cron-on-s3.md").read_text(encoding="utf-8")
    found = [block.strip() for block in re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)]
    probe = next(block for block in found if block == "muster probe")
    run = next(block for block in found if block.startswith("muster run --name nightly"))
    look = next(block for block in found if block.startswith("muster leader"))
    return probe, run, look


def wait_for(what, condition):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def main():
    probe, run, look = blocks()
    with tempfile.TemporaryDirectory(prefix="muster-cron-") as directory, bucket(directory) as url:
        environment = {"PATH": f"{PROGRAMS}:/usr/bin:/bin", "HOME": directory, "MUSTER_ARBITER": url, **KEYS}
        subprocess.run(["bash", "-euc", probe], env=environment, check=True)
        machines = {}

        def start(name):
            # Ends with this test, however that ends.
            words = ["setpriv", "--pdeathsig", "TERM", "bash", "-euc",
                     "exec " + run.replace("/tmp/nightly.log", f"{directory}/{name}.log")]
            machines[name] = subprocess.Popen(words, env={**environment, "MUSTER_ID": name})

        def lines(name):
            path = pathlib.Path(directory, f"{name}.log")
            return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

        try:
            start("one")
            wait_for("the first machine runs the job", lambda: lines("one"))
            start("two")
            asked = subprocess.run(["bash", "-euc", look], env=environment, check=True, text=True,
                                   stdout=subprocess.PIPE)
            assert "one" in asked.stdout, asked.stdout
            assert not lines("two"), "the job ran twice"
            machines["one"].send_signal(signal.SIGINT)
            machines["one"].wait(timeout=PATIENCE_SECONDS)
            before = len(lines("one"))
            wait_for("the second machine takes over", lambda: lines("two"))
            machines["two"].kill()  # Pulls its plug.
            start("three")
            wait_for("the third machine takes over", lambda: lines("three"))
            assert len(lines("one")) == before, "the job went on where it had been stopped"
            assert not set(lines("two")) & set(lines("three")), "the job ran twice in one second"
        finally:
            for machine in machines.values():
                machine.send_signal(signal.SIGTERM)
            for machine in machines.values():
                machine.wait(timeout=PATIENCE_SECONDS)
    print("ok")


main()
