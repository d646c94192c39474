#!/usr/bin/env python3
"""Follows docs/cron-on-s3.md on machines that share a bucket of a real S3 (radosgw): its commands as they
stand. AWS_ENDPOINT_URL_S3 leads to that S3 instead of AWS's, and each machine has a log of its own.

With --root the machines are a system with the packages, and the step that needs the package is taken as
well: `systemctl` is a stand-in that starts what the package's unit says.

usage: cron_on_s3_test.py DIRECTORY_OF_PROGRAMS | cron_on_s3_test.py --root SYSTEM
"""
# Takes about 24 s: a real radosgw with its Ceph starts, and the document's lease of 15 s must run out after the
# plug of a machine was pulled.

import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from surroundings import KEYS, PATIENCE_SECONDS, ROOT, bucket, wait_for

STANDARD_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
UNIT = "usr/lib/systemd/system/muster-run@.service"

# What systemd does with EnvironmentFile=, $WORD and %i; the rest of the unit is systemd's alone.
SYSTEMCTL = """
systemctl() {
  [[ $* == "enable --now muster-run@"* ]]
  local name=${3#muster-run@} line
  local settings=$(sed -n 's/^EnvironmentFile=//p' /@UNIT@) start=$(sed -n 's/^ExecStart=//p' /@UNIT@)
  while IFS= read -r line; do export "${line%%=*}=${line#*=}"; done <"${settings//%i/$name}"
  eval "exec ${start//%i/$name}"
}
""".replace("@UNIT@", UNIT)


def blocks():
    text = (ROOT / "docs/cron-on-s3.md").read_text(encoding="utf-8")
    found = [block.strip() for block in re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)]
    beginnings = ("export MUSTER_ARBITER", "muster probe", "muster run --name nightly", "muster leader",
                  "umask 077\ncat >/etc/muster/run/nightly.env")
    assert len(found) == len(beginnings), "a step has come or gone: this test must take it as well"
    for block, beginning in zip(found, beginnings):
        assert block.startswith(beginning), block
    return found


class Fleet:
    """Machines by name, all of them in one system; `temporary` is its /tmp."""

    def __init__(self, enter, temporary, inner_temporary, environment):
        self.enter, self.temporary, self.inner = enter, pathlib.Path(temporary), inner_temporary
        self.environment, self.machines = environment, {}

    def start(self, name, script, **more):
        # Ends with this test, however that ends.
        words = ["setpriv", "--pdeathsig", "TERM", *self.enter, "bash", "-euc",
                 script.replace("/tmp/nightly.log", f"{self.inner}/{name}.log")]
        self.machines[name] = subprocess.Popen(words, env={**self.environment, **more})

    def ask(self, script):
        done = subprocess.run([*self.enter, "bash", "-euc", script], env=self.environment, text=True,
                              stdout=subprocess.PIPE, check=False)
        return done.stdout if done.returncode == 0 else ""

    def stop(self, name, number):
        self.machines[name].send_signal(number)
        return self.machines[name].wait(timeout=PATIENCE_SECONDS)

    def lines(self, name):
        path = self.temporary / f"{name}.log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def stop_all(self):
        for machine in self.machines.values():
            machine.send_signal(signal.SIGTERM)
        for machine in self.machines.values():
            machine.wait(timeout=PATIENCE_SECONDS)


def follow(fleet, export, probe, run, look):
    assert fleet.ask(f"{export}\n{probe}"), "the store was called unsafe"
    run = f"{export}\nexec {run}"
    fleet.start("one", run, MUSTER_ID="one")
    wait_for("the first machine runs the job", lambda: fleet.lines("one"))
    fleet.start("two", run, MUSTER_ID="two")
    assert "one" in fleet.ask(f"{export}\n{look}")
    assert not fleet.lines("two"), "the job ran twice"
    fleet.stop("one", signal.SIGINT)
    before = len(fleet.lines("one"))
    wait_for("the second machine takes over", lambda: fleet.lines("two"))
    fleet.stop("two", signal.SIGKILL)  # Pulls its plug.
    fleet.start("three", run, MUSTER_ID="three")
    wait_for("the third machine takes over", lambda: fleet.lines("three"))
    assert len(fleet.lines("one")) == before, "the job went on where it had been stopped"
    assert not set(fleet.lines("two")) & set(fleet.lines("three")), "the job ran twice in one second"
    fleet.stop("three", signal.SIGTERM)


def keep(fleet, system, export, unit, look):
    """A real cron under the package's unit."""
    fleet.start("unit", f"{SYSTEMCTL}\n{unit}")
    wait_for("the unit leads", lambda: fleet.ask(f"{export}\n{look}"))
    crond = pathlib.Path(system, "run/crond.pid")
    wait_for("cron runs", lambda: crond.exists() and crond.read_text(encoding="utf-8").strip())
    command = pathlib.Path("/proc", crond.read_text(encoding="utf-8").strip(), "cmdline").read_bytes()
    assert command == b"/usr/sbin/cron\0-f\0", command
    assert fleet.stop("unit", signal.SIGTERM) == 143, "SuccessExitStatus of the unit"


def main():
    # A shell in the background ignores it, and so would every program that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    export, probe, run, look, unit = blocks()
    with tempfile.TemporaryDirectory(prefix="muster-cron-") as directory, bucket(directory) as s3:
        environment = {"AWS_ENDPOINT_URL_S3": s3, **KEYS}
        installed = sys.argv[1] == "--root"
        if installed:
            system = pathlib.Path(sys.argv[2]).resolve()
            environment["PATH"] = STANDARD_PATH  # As systemd's services, without HOME.
            fleet = Fleet(["chroot", system], system / "tmp", "/tmp", environment)
        else:
            programs = pathlib.Path(sys.argv[1]).resolve()
            environment |= {"PATH": f"{programs}:{STANDARD_PATH}", "HOME": directory}
            fleet = Fleet([], directory, directory, environment)
        try:
            follow(fleet, export, probe, run, look)
            if installed:
                keep(fleet, system, export, unit, look)
        finally:
            fleet.stop_all()
    print("ok")


main()
