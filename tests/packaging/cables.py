"""A switch and machines' cables to it, for tests that have a network of their own."""
import os
import subprocess
import time

PATIENCE_SECONDS = 60


def run(*words, **more):
    return subprocess.run(words, check=True, text=True, **more)


def wait_for(what, condition):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def make_switch(name, address):
    """The test itself is plugged in at `address`."""
    run("ip", "link", "add", name, "type", "bridge")
    run("ip", "addr", "add", f"{address}/24", "dev", name)
    run("ip", "link", "set", name, "up")


def plug(process, switch, address):
    """Connects a process that has just been started by `unshare --net`, as eth0."""
    pid = process.pid
    wait_for("it has a network", lambda: os.readlink(f"/proc/{pid}/ns/net") != os.readlink(
        "/proc/self/ns/net"))
    cable = f"eth{pid}"
    run("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
    run("ip", "link", "set", cable, "master", switch, "up")
    inside = ["nsenter", "--target", str(pid), "--net", "ip"]
    run(*inside, "addr", "add", f"{address}/24", "dev", "eth0")
    run(*inside, "link", "set", "eth0", "up")
