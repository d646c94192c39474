#!/usr/bin/env python3
"""Follows docs/three-servers.md on three machines with the packages: its commands as they stand, each where
the document says, in one shell a machine. The machines share the system's programs and have a network,
settings and state of their own. `systemctl` is unit.py with the shipped unit, `scp` a copy; the packages
were installed by the caller, with the document's line.

usage: three_servers_test.py --root SYSTEM    (as root, in a network, mounts and processes of its own;
                                               SYSTEM/var/tmp/etc is its /etc as installed)
"""
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading

from cables import PATIENCE_SECONDS, make_switch, plug, run, wait_for
from facts import ROOT
from unit import Service

sys.path.insert(0, str(ROOT / "tests/docs"))
from commands import blocks, console_entries, loose  # noqa: E402

SYSTEM = pathlib.Path(sys.argv[2]).resolve()
MACHINES = SYSTEM / "var/tmp/machines"
UNIT = "usr/lib/systemd/system/musterd.service"
# The first line of each block, and where it is followed.
STEPS = (
    ("cat >>/etc/hosts", "each"),
    ("apt install", "before"),
    ("umask 077", "h1"),
    ("n=1", "each"),
    ("cat >/etc/muster/musterd.yaml", "each"),
    ("systemctl enable --now musterd", "each"),
    ("$ export MUSTER_SERVER", "h1"),
    ("$ muster node register", "h1"),
    ("systemctl stop musterd", "leader"),
    ("$ until muster health", "h1"),
    ("systemctl start musterd", "leader"),
    ("for n in 1 2 3; do\n  muster certs issue", "h1"),
)
OWN = ("etc", "root", "run", "tmp", "var/lib/muster", "var/log")
START = """
read -r _
ip link set lo up
system=$0
mount --rbind "$system" "$system"
while [ $# -gt 0 ]; do mount --bind "$1" "$system$2"; shift 2; done
echo ready
read -r _
"""
SHELL = """
scp() {
  local to=${2#root@}
  cp "$1" "/var/tmp/machines/${to%%:*}${to#*:}"
}
"""


class Machine:
    def __init__(self, number, address):
        self.name, self.number, self.address = f"h{number}", number, address
        self.log = MACHINES / f"{self.name}.log"
        mounts = []
        for place in OWN:
            own = MACHINES / self.name / place
            own.mkdir(parents=True)
            mounts += [own, f"/{place}"]
        run("cp", "-a", f"{SYSTEM}/var/tmp/etc/.", MACHINES / self.name / "etc")
        (MACHINES / self.name / "tmp").chmod(0o1777)
        self.anchor = subprocess.Popen(["unshare", "--net", "--mount", "sh", "-euc", START, SYSTEM, *mounts],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        plug(self.anchor, "lan", address)
        self.anchor.stdin.write("\n")
        self.anchor.stdin.flush()
        assert self.anchor.stdout.readline() == "ready\n"
        self.service = Service(SYSTEM, UNIT)
        self.shell = subprocess.Popen(
            # With its root, too: this test may itself be in a chroot.
            ["nsenter", "--target", str(self.anchor.pid), "--net", "--mount", "--root", "chroot", SYSTEM,
             "bash", "-euo", "pipefail"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"})
        self.type(SHELL + "cd")

    def type(self, commands):
        """What they print. The shell ends with the first that fails."""
        print(f"{self.name}# {commands}", flush=True)
        self.shell.stdin.write(f"{{ {commands}\n}} </dev/null\necho @@\n")
        self.shell.stdin.flush()
        timer = threading.Timer(2 * PATIENCE_SECONDS, self.shell.kill)
        timer.start()
        output = line = ""
        for line in self.shell.stdout:
            if line == "@@\n":
                break
            output += line
        timer.cancel()
        print(output, flush=True)
        assert self.shell.poll() is None and line == "@@\n", f"on {self.name}: {commands}"
        return output

    def see(self, command, shown):
        """It prints what is shown. A command that only reads may be repeated: servers that share two processors with other
        tests may find that nobody leads, and elect once more."""
        if not re.match("muster (health|nodes|server list)", command):
            printed = self.type(command)
            assert shapes(printed) == shapes(shown), f"{command}\nshown:\n{shown}\nprinted:\n{printed}"
        else:
            wait_for(f"{command} prints\n{shown}",
                     lambda: shapes(self.type(f"{command} || true")) == shapes(shown))

    def systemctl(self, words):
        if words in ("enable --now musterd", "start musterd"):
            with open(self.log, "ab") as log:
                self.service.start(self.anchor.pid, log)
        elif words == "stop musterd":
            assert self.service.stop(signal.SIGTERM) == 0
        else:
            raise AssertionError(f"systemctl {words}")

    def follow(self, block):
        if block.startswith("$ "):
            for command, shown in console_entries(block):
                self.see(command, shown)
        elif block.startswith("systemctl "):
            self.systemctl(block.removeprefix("systemctl ").strip())
        else:
            self.type(block.replace("n=1 ", f"n={self.number} "))

    def end(self):
        for process in (self.shell, self.service.process, self.anchor):
            if process:
                process.kill()
                process.wait()


def shapes(text):
    """Any server may lead, and answer."""
    return re.sub(r"\b(leader|follower)\b", "ROLE", loose(text))


def steps():
    text = (ROOT / "docs/three-servers.md").read_text(encoding="utf-8")
    found = [block for _, block in blocks(text, "sh|console")]
    assert len(found) == len(STEPS), "a step has come or gone: this test must take it as well"
    for block, (beginning, where) in zip(found, STEPS):
        assert block.startswith(beginning), block
        yield where, block


def check_sample(block):
    """The shipped settings have the same in comments, as of the first server."""
    shipped = (SYSTEM / "var/tmp/etc/muster/musterd.yaml").read_text(encoding="utf-8")
    sample = "".join(f"{line}\n" for line in re.findall(r"^# ?(.*)$", shipped, re.M))
    settings = re.search(r"<<END\n(.*)^END$", block, re.M | re.S)[1]
    assert sample.endswith(settings.replace("$n", "1")), f"{sample}\nis not\n{settings}"


def leader(machines):
    said = machines[0].type("until muster health; do sleep 0.2; done")
    return machines[int(re.search(r"^healthy: .*s(\d) leads", said, re.M)[1]) - 1]


def follow(machines):
    leads = None
    for where, block in steps():
        if where == "before":
            continue
        if block.startswith("cat >/etc/muster/musterd.yaml"):
            check_sample(block)
        if where == "leader" and leads is None:
            leads = leader(machines)
        for machine in {"each": machines, "h1": machines[:1], "leader": [leads]}[where]:
            machine.follow(block)
        if block.startswith("systemctl stop"):
            wait_for("another one leads", lambda: leader(machines) is not leads)


def install_renewed(machines):
    """Step 4 once more, as the last step says: they count without a restart."""
    (install,) = [block for _, block in steps() if block.startswith("n=1")]
    assert "muster certs crl" in list(steps())[-1][1], "the revocation list is not renewed"
    for machine in machines:
        machine.follow(install)
    for machine in machines:
        pki = MACHINES / "h1/root/muster-pki"
        new = (pki / f"s{machine.number}.crt").read_text(encoding="ascii")
        wait_for(f"{machine.name} shows its new certificate",
                 lambda: ssl.get_server_certificate((machine.address, 9002)).strip() in new)
        assert (MACHINES / machine.name / "etc/muster/tls/crl.pem").read_bytes() == (
            pki / "crl.pem").read_bytes()


def kill_leader(machines):
    """Beyond the document: no hand-over, as when the power is cut."""
    for machine in machines:
        machines[0].type(f"until muster health --server {machine.name}:9000; do sleep 0.2; done")
    victim = leader(machines)
    victim.service.stop(signal.SIGKILL)
    others = ",".join(f"{each.name}:9000" for each in machines if each is not victim)
    machines[0].type(f"until muster health --server {others} | grep -v ' at {victim.name}:'; do sleep 0.2; done")
    machines[0].type(f"until muster nodes --server {others} | grep o1; do sleep 0.2; done")


def main():
    MACHINES.mkdir()
    make_switch("lan", "192.0.2.1")
    machines = []
    try:
        machines += [Machine(n, f"192.0.2.{10 + n}") for n in (1, 2, 3)]
        follow(machines)
        install_renewed(machines)
        kill_leader(machines)
    except BaseException:
        for machine in machines:
            if machine.log.exists():
                print(f"---- {machine.name}\n{machine.log.read_text(encoding='utf-8')[-4000:]}")
        raise
    finally:
        for machine in machines:
            machine.end()
        shutil.rmtree(MACHINES)
    print("ok")


main()
