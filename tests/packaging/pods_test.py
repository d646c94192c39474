#!/usr/bin/env python3
"""Runs the StatefulSet of packaging/kubernetes as a kubelet would, in a system with the packages: three
pods with a network, volumes and a user of their own, known to each other by name, over a root that cannot
be written to; asks the probes, and replaces a pod by one with another address.

usage: pods_test.py --root SYSTEM    (as root, in a network, mounts and processes of its own)
"""
import os
import pathlib
import re
import shutil
import ssl
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
(SET,) = [thing for thing in yaml.safe_load_all(TEXT) if thing["kind"] == "StatefulSet"]
POD = SET["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]
HOSTS = SYSTEM / "etc/hosts"

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


def make_secret(directory):
    """As a kubelet lays it out: names that are links into a directory that is replaced as a whole."""
    work = SYSTEM / "var/tmp/secret"
    work.mkdir()
    run("chroot", SYSTEM, "bash", "-c", "cd /var/tmp/secret\n" + manifest.secret_recipe(TEXT),
        stdout=subprocess.DEVNULL)
    (mode,) = [each["secret"]["defaultMode"] for each in POD["volumes"] if "secret" in each]
    (directory / "..1").mkdir(parents=True)
    (directory / "..data").symlink_to("..1")
    for file in re.findall(r"--from-file=(\S+)", (work / "words").read_text(encoding="utf-8")):
        inner = directory / "..1" / pathlib.Path(file).name
        shutil.copyfile(work / file, inner)
        os.chown(inner, 0, POD["securityContext"]["fsGroup"])
        inner.chmod(mode)
        (directory / inner.name).symlink_to(f"..data/{inner.name}")
    run("chroot", SYSTEM, "muster", "certs", "issue", "--dir", "/var/tmp/secret/tls", "--role", "admin",
        "--id", "op", stdout=subprocess.DEVNULL)


class Pod:
    """The volumes outlive it, its address does not."""

    def __init__(self, number, secret, address):
        self.name, self.address = f"{SET['metadata']['name']}-{number}", address
        self.log = SYSTEM / f"var/tmp/{self.name}.log"
        mounts = []
        for mount in CONTAINER["volumeMounts"]:
            source = secret
            if mount["name"] != "tls":
                source = SYSTEM / f"var/tmp/volumes/{self.name}-{mount['name']}"
                source.mkdir(parents=True, exist_ok=True)
                os.chown(source, 0, POD["securityContext"]["fsGroup"])
                source.chmod(0o2775)
            (SYSTEM / mount["mountPath"].lstrip("/")).mkdir(parents=True, exist_ok=True)
            mounts += [source, mount["mountPath"]]
        user, group = (str(POD["securityContext"][key]) for key in ("runAsUser", "fsGroup"))
        words = [word.replace("$(NAME)", self.name) for word in entrypoint() + CONTAINER["args"]]
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
    service = SET["spec"]["serviceName"]
    names = "".join(f"{pod.address} {pod.name}.{service}\n" for pod in pods)
    HOSTS.write_text("127.0.0.1 localhost\n" + names, encoding="utf-8")


def muster(*words):
    tls = [f"--{flag}=/var/tmp/secret/tls/{file}" for flag, file in
           (("cacert", "ca.crt"), ("cert", "op.crt"), ("key", "op.key"))]
    service = f"{SET['metadata']['name']}-0.{SET['spec']['serviceName']}:9000"
    return run("chroot", SYSTEM, "muster", *words, "--server", service, *tls, stdout=subprocess.PIPE).stdout


def main():
    secret = SYSTEM / "var/tmp/volumes/tls"
    make_secret(secret)
    make_switch("pods", "10.244.0.1")
    pods = [Pod(n, secret, f"10.244.0.{10 + n}") for n in range(SET["spec"]["replicas"])]
    name_pods(pods)
    try:
        for pod in pods:
            wait_for(f"{pod.name} lives", lambda pod=pod: pod.probe("livenessProbe"))
            wait_for(f"{pod.name} is ready", lambda pod=pod: pod.probe("readinessProbe"))
        muster("node", "register", "o1", "--address", "10.0.0.7", "--port", "7000")
        wait_for("all servers are known", lambda: all(pod.name in muster("server", "list") for pod in pods))
        pods[1].process.kill()
        pods[1].process.wait()
        pods[1] = Pod(1, secret, "10.244.0.21")
        name_pods(pods)
        wait_for("the new pod is ready", lambda: pods[1].probe("readinessProbe"))
        assert "o1" in muster("topology")
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
