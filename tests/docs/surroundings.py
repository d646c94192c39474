"""Real servers that the documents take for granted, on free ports; each ends with its context."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEYS = {"AWS_ACCESS_KEY_ID": "muster-test-key", "AWS_SECRET_ACCESS_KEY": "muster-test-secret"}
PATIENCE_SECONDS = 90


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def wait_for(what, condition):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


@contextlib.contextmanager
def bucket(directory):
    """The address of an S3 with a bucket named as in the documents."""
    port, monitor = free_port(), free_port()
    server = subprocess.Popen([ROOT / "tools/testing/radosgw.sh", "serve", f"{directory}/s3", str(port),
                               str(monitor)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, **KEYS, "MUSTER_S3_BUCKET": "bucket"})
    try:
        assert server.stdout.readline().strip() == "ready", "radosgw did not start"
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stdin.close()
        server.stdout.close()
        server.wait(timeout=60)


@contextlib.contextmanager
def etcd(directory):
    """Its host and port."""
    port, peer = free_port(), free_port()
    words = ["setpriv", "--pdeathsig", "KILL", "etcd", f"--data-dir={directory}/etcd",
             f"--listen-client-urls=http://127.0.0.1:{port}",
             f"--advertise-client-urls=http://127.0.0.1:{port}",
             f"--listen-peer-urls=http://127.0.0.1:{peer}",
             f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
             f"--initial-cluster=default=http://127.0.0.1:{peer}"]
    with open(f"{directory}/etcd.log", "wb") as log, \
            subprocess.Popen(words, stdout=log, stderr=log) as server:
        try:
            health = ["etcdctl", f"--endpoints=127.0.0.1:{port}", "endpoint", "health"]
            wait_for("etcd is healthy", lambda: subprocess.run(
                health, capture_output=True, check=False).returncode == 0)
            yield f"127.0.0.1:{port}"
        finally:
            server.kill()


@contextlib.contextmanager
def postgres(commands):
    """The host and port of a PostgreSQL to which everybody on this machine is who they say; `commands` are run in it."""
    port = free_port()
    programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))[-1]
    # It refuses to run as root.
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    user += ["setpriv", "--pdeathsig", "KILL"]
    with tempfile.TemporaryDirectory(prefix="muster-postgres-") as place:
        if os.geteuid() == 0:
            shutil.chown(place, "postgres", "postgres")
        subprocess.run([*user, programs / "initdb", "--no-sync", "--auth=trust", "--username=postgres", "--pgdata", f"{place}/data"],
                       check=True, capture_output=True, cwd=place)
        with open(f"{place}/log", "wb") as log, subprocess.Popen(
                [*user, programs / "postgres", "-D", f"{place}/data", "-c", "listen_addresses=127.0.0.1",
                 "-c", f"port={port}", "-c", f"unix_socket_directories={place}"], stdout=log, stderr=log, cwd=place) as server:
            client = [programs / "psql", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-v", "ON_ERROR_STOP=1"]
            try:
                wait_for("PostgreSQL answers", lambda: subprocess.run(
                    [*client, "-c", "SELECT 1"], capture_output=True, check=False).returncode == 0)
                for command in commands:
                    subprocess.run([*client, "-c", command], check=True, capture_output=True)
                yield f"127.0.0.1:{port}"
            finally:
                server.kill()
