#!/usr/bin/env python3
"""Runs the StatefulSets of packaging/kubernetes as a kubelet would, in a system with the packages: three
pods with a network, volumes and a user of their own, known to each other by name, over a root that cannot
be written to; asks the probes, dials the service by its names, replaces a pod by one with another address,
and revokes a certificate.

usage: pods_test.py --root SYSTEM    (as root, in a network, mounts and processes of its own)
"""
import os
import pathlib
import shutil
import ssl
import stat
import subprocess
import sys
import urllib.error
import urllib.request

import containerfile
import manifest
import yaml
from cables import make_switch, plug, run, wait_for
from facts import ROOT

SYSTEM = pathlib.Path(sys.argv[2]).resolve()
TEXT = (ROOT / "packaging/kubernetes/musterd.yaml").read_text(encoding="utf-8")
SETS = [thing for thing in yaml.safe_load_all(TEXT) if thing["kind"] == "StatefulSet"]
SET = SETS[0]  # The others differ in their name.
POD = SET["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]
SERVICE = SET["spec"]["serviceName"]
HOSTS = SYSTEM / "etc/hosts"
WORK = SYSTEM / "var/tmp/secret"
VOLUMES = SYSTEM / "var/tmp/volumes"
DOMAINS = ("", ".default.svc", ".default.svc.cluster.local")

START = """
read -r _
ip link set lo up
system=$0 user=$1 group=$2
shift 2
mount --rbind "$system" "$system"
while [ "$1" != -- ]; do mount --bind "$1" "$system$2"; shift 2; done
shift
mount -o remount,bind,ro "$system"
exec chroot --userspec="$user:0" --groups="$group" "$system" "$@"
"""


def entrypoint():
    entry = None
    for _, name, argument in containerfile.instructions(
            (ROOT / "packaging/container/Containerfile").read_text(encoding="utf-8")):
        entry = containerfile.exec_form(argument) if name == "ENTRYPOINT" else entry
    return entry


def certs(*words):
    run("chroot", SYSTEM, "muster", "certs", *words, "--dir", "/var/tmp/secret/tls",
        stdout=subprocess.DEVNULL)


def make_certificates():
    WORK.mkdir()
    run("chroot", SYSTEM, "bash", "-c", "cd /var/tmp/secret\n" + manifest.secret_recipe(TEXT),
        stdout=subprocess.DEVNULL)
    for name in ("op", "gone"):
        certs("issue", "--role", "admin", "--id", name)


def lay_out(name, version, mode):
    """A secret or configmap as a kubelet does: names that are links into a directory that is replaced as a whole."""
    directory = VOLUMES / name
    (directory / f"..{version}").mkdir(parents=True)
    for key, file in manifest.given((WORK / "words").read_text(encoding="utf-8"))[name].items():
        inner = directory / f"..{version}" / key
        shutil.copyfile(WORK / file, inner)
        os.chown(inner, 0, POD["securityContext"]["fsGroup"])
        inner.chmod(mode)
        if not (directory / inner.name).is_symlink():
            (directory / inner.name).symlink_to(f"..data/{inner.name}")
    (directory / "..next").symlink_to(f"..{version}")
    (directory / "..next").rename(directory / "..data")
    return directory


def give_to_group(volume):
    """As a kubelet does before each start: the volume with all that is in it, unless it is told that a root
    of the right group is enough."""
    security, root = POD["securityContext"], volume.stat()
    fits = root.st_gid == security["fsGroup"] and root.st_mode & 0o2770 == 0o2770
    if fits and security.get("fsGroupChangePolicy") == "OnRootMismatch":
        return
    for path in [volume, *volume.rglob("*")]:
        os.chown(path, -1, security["fsGroup"])
        path.chmod(stat.S_IMODE(path.stat().st_mode) | (0o2770 if path.is_dir() else 0o660))


class Pod:
    """The volumes outlive it, its address does not."""

    def __init__(self, number, address):
        each = SETS[number]
        self.name, self.address = f"{each['metadata']['name']}-0", address
        self.log = SYSTEM / f"var/tmp/{self.name}.log"
        pod = each["spec"]["template"]["spec"]
        given = {volume["name"]: volume.get("secret", {}).get("secretName") or volume.get("configMap", {}).get("name")
                 for volume in pod["volumes"]}
        (container,) = pod["containers"]
        mounts = []
        for mount in container["volumeMounts"]:
            source = VOLUMES / (given.get(mount["name"]) or f"{self.name}-{mount['name']}")
            if not given.get(mount["name"]):
                source.mkdir(parents=True, exist_ok=True)
                give_to_group(source)
            (SYSTEM / mount["mountPath"].lstrip("/")).mkdir(parents=True, exist_ok=True)
            mounts += [source, mount["mountPath"]]
        user, group = (str(POD["securityContext"][key]) for key in ("runAsUser", "fsGroup"))
        words = [word.replace("$(NAME)", self.name) for word in entrypoint() + container["args"]]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["unshare", "--net", "--mount", "sh", "-euc", START, SYSTEM, user, group, *mounts, "--",
                 *words],
                stdin=subprocess.PIPE, stdout=log, stderr=log,
                env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"})
        plug(self.process, "pods", address)
        self.process.stdin.write(b"\n")
        self.process.stdin.close()

    def probe(self, kind):
        ports = {port["name"]: port["containerPort"] for port in CONTAINER["ports"]}
        get = CONTAINER[kind]["httpGet"]
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # As a kubelet.
        url = f"{get['scheme'].lower()}://{self.address}:{ports[get['port']]}{get['path']}"
        try:
            with urllib.request.urlopen(url, timeout=2, context=context) as answer:
                return 200 <= answer.status < 400
        except (urllib.error.URLError, OSError):
            return False


def name_pods(pods):
    """What a cluster's DNS knows: each pod, and all of them by the name of the service."""
    lines = ["127.0.0.1 localhost"]
    for pod in pods:
        names = [name + domain for name in (f"{pod.name}.{SERVICE}", SERVICE) for domain in DOMAINS]
        lines.append(f"{pod.address} {' '.join(names)}")
    HOSTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def muster(*words, server=f"{SERVICE}:9000", who="op"):
    tls = [f"--{flag}=/var/tmp/secret/tls/{file}" for flag, file in
           (("cacert", "ca.crt"), ("cert", f"{who}.crt"), ("key", f"{who}.key"))]
    return run("chroot", SYSTEM, "muster", *words, "--server", server, *tls, stdout=subprocess.PIPE,
               stderr=subprocess.STDOUT).stdout


def answers(name, who="op"):
    try:
        return "o1" in muster("nodes", server=f"{name}:9000", who=who)
    except subprocess.CalledProcessError:
        return False


def check_names(pods):
    for name in (SERVICE, *(f"{pod.name}.{SERVICE}" for pod in pods)):
        for domain in DOMAINS:
            wait_for(f"{name}{domain} answers", lambda name=name + domain: answers(name))


def check_private(pod):
    """etcd wants its directories for itself, and asks no questions of anyone who enters the engine's."""
    engine = VOLUMES / f"{pod.name}-state/engine"
    for path in (engine, engine / "etcd", engine / "etcd/member"):
        assert path.stat().st_mode & 0o077 == 0, f"{path} is open to others than its user"


def check_revocation(pods):
    names = [f"{pod.name}.{SERVICE}" for pod in pods]
    for name in names:
        wait_for(f"{name} answers", lambda name=name: answers(name, "gone"))
    certs("revoke", "--id", "gone")
    lay_out("musterd-ca", 2, 0o644)
    for name in names:
        wait_for(f"{name} refuses what was revoked", lambda name=name: not answers(name, "gone"))
        wait_for(f"{name} answers others", lambda name=name: answers(name))


def main():
    make_certificates()
    lay_out("musterd-ca", 1, 0o644)
    for each in SETS:
        for volume in [volume for volume in each["spec"]["template"]["spec"]["volumes"] if "secret" in volume]:
            lay_out(volume["secret"]["secretName"], 1, volume["secret"]["defaultMode"])
    make_switch("pods", "10.244.0.1")
    pods = [Pod(n, f"10.244.0.{10 + n}") for n in range(len(SETS))]
    name_pods(pods)
    try:
        for pod in pods:
            wait_for(f"{pod.name} lives", lambda pod=pod: pod.probe("livenessProbe"))
            wait_for(f"{pod.name} is ready", lambda pod=pod: pod.probe("readinessProbe"))
        muster("node", "register", "o1", "--address", "10.0.0.7", "--port", "7000")
        ids = [each["metadata"]["name"] for each in SETS]
        wait_for("all servers are known", lambda: all(name in muster("server", "list") for name in ids))
        pods[1].process.kill()
        pods[1].process.wait()
        pods[1] = Pod(1, "10.244.0.21")
        name_pods(pods)
        wait_for("the new pod is ready", lambda: pods[1].probe("readinessProbe"))
        assert "o1" in muster("topology")
        check_names(pods)
        check_private(pods[1])
        check_revocation(pods)
    except BaseException:
        for pod in pods:
            print(f"---- {pod.name}\n{pod.log.read_text(encoding='utf-8')[-4000:]}")
        raise
    finally:
        for pod in pods:
            pod.process.kill()
            pod.process.wait()
    print("ok")


main()
