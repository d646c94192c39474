#!/usr/bin/env python3
"""The container file and the Kubernetes manifests, of packaging/ and of docs/run.md, against what the
packages hold and what the programs understand, and docs/operating.md against both; and that faults in them
are found.

usage: container_test.py BUILD_DIRECTORY
"""
# Takes about 17 s: both packages are installed into a directory, the programs asked for the help of every command
# that is named, and about 70 faults planted one by one.
import contextlib
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import containerfile
import manifest
import yaml
from facts import ROOT, Facts

BUILD = pathlib.Path(sys.argv[1]).resolve()
CONTAINERFILE = (ROOT / "packaging/container/Containerfile").read_text(encoding="utf-8")
MANIFEST = (ROOT / "packaging/kubernetes/musterd.yaml").read_text(encoding="utf-8")
RUN_BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs/run.md").read_text(encoding="utf-8"),
                        re.M | re.S)
SETS = [thing for thing in yaml.safe_load_all(MANIFEST) if thing["kind"] == "StatefulSet"]
STATEFUL = SETS[0]
POD = STATEFUL["spec"]["template"]["spec"]
IN_CONTAINERS = re.search(r"(?ms)^## In containers$(.*?)^## ",
                          (ROOT / "docs/operating.md").read_text(encoding="utf-8"))[1]
DEPLOYMENT = next(block for block in RUN_BLOCKS if "kind: Deployment" in block)

# (what stands there, what a tired person may write, a word of the sentence that finds it)
IN_THE_CONTAINERFILE = [
    ("COPY build", "COYP build", "instruction"),
    ("FROM debian:${DEBIAN}-slim AS muster\n", "", "before the first FROM"),
    ("FROM debian:${DEBIAN}-slim AS musterd", "FROM debian:${DEBIAN}-slim AS muster", "two stages"),
    ("debian:${DEBIAN}-slim AS musterd", "debian AS musterd", "image:version"),
    ("debian:${DEBIAN}-slim AS musterd", "debian:12-slim AS musterd", "one release"),
    ("ARG DEBIAN=12\n", "", "no ARG"),
    ("ARG DEBIAN=12", "ARG DEBIAN", "no value"),
    ("COPY build/packages/muster_*.deb /tmp/", "COPY build/packages/muster-*.deb /tmp/", "no such file"),
    ("COPY build/packages/muster_*.deb /tmp/", "COPY build/package/muster_*.deb /tmp/", "no such file"),
    ("muster_*.deb build/packages/musterd_*.deb /tmp/", "muster_*.deb build/packages/musterd_*.deb /tmp",
     "directory"),
    ("COPY build/packages/muster_*.deb build/packages/musterd_*.deb", "COPY build/packages/musterd_*.deb",
     "was not copied"),
    ("      /tmp/muster_*.deb /tmp/musterd_*.deb", "      /tmp/muster_*.deb", "not installed"),
    ("install -y", "install", "-y"),
    ("rm -rf /var/lib/apt/lists/* /tmp/*.deb\nUSER nobody", "rm -rf '/var/lib\nUSER nobody", "shell"),
    ("USER nobody\n", "", "root"),
    ("USER muster\n", "USER root\n", "root"),
    ("USER nobody", "USER muster", "makes the user"),
    ("EXPOSE 9000 9001 9002", "EXPOSE 9000 9002", "EXPOSE"),
    ("EXPOSE 9000", "EXPOSE :9000", "no port"),
    ("VOLUME /var/lib/muster", "VOLUME /var/lib/musterd", "volume"),
    ('["/usr/bin/muster"]', "/usr/bin/muster", "exec form"),
    ('["/usr/bin/muster"]', '["/usr/bin/musterd"]', "no package in it has"),
    ('["/usr/bin/musterd"]', '["/usr/sbin/musterd"]', "no package in it has"),
    ('CMD ["--config", ', "CMD ['--config', ", "exec form"),
    ('"--config"', '"--conf"', "no option"),
    ("/etc/muster/musterd.yaml", "/etc/musterd.yaml", "no package has"),
]
IN_THE_MANIFEST = [
    ("kind: Service", "kind: Servcie", "kind"),
    ("apiVersion: apps/v1", "apiVersion: apps/v1beta1", "kind"),
    ("      terminationGracePeriodSeconds: 20", "    terminationGracePeriodSeconds: 20", "no YAML"),
    ("  replicas: 1", "  replicas: 1\n  replicas: 5", "twice"),
    ("  replicas: 1", "  replicas: three", "replicas"),
    ("  replicas: 1", "  replicas: 3", "second replica"),
    ("secretName: musterd-1-tls", "secretName: musterd-0-tls", "two servers"),
    ("        seccompProfile: {type: RuntimeDefault}\n", "", "seccompProfile"),
    ("seccompProfile: {type: RuntimeDefault}", "seccompProfile: {type: Unconfined}", "seccompProfile"),
    ("      automountServiceAccountToken: false\n", "", "automountServiceAccountToken"),
    ("automountServiceAccountToken: false", "automountServiceAccountToken: true", "automountServiceAccountToken"),
    ("podSelector: {matchLabels: {app: musterd}}\n  policyTypes", "podSelector: {matchLabels: {app: m}}\n  policyTypes",
     "NetworkPolicy"),
    ("policyTypes: [Ingress, Egress]", "policyTypes: [Egress]", "NetworkPolicy"),
    ("        - {port: 9000}\n", "        - {port: 9001}\n", "others than servers"),
    ("    - from:\n        - podSelector: {matchLabels: {app: musterd}}\n      ports:\n        - {port: 9001}",
     "    - ports:\n        - {port: 9001}", "others than servers"),
    ("readinessProbe:", "readynessProbe:", "no field"),
    ("  selector: {app: musterd}", "  selector: {app: muster}", "selects no pods"),
    ("selector: {matchLabels: {app: musterd, server: musterd-0}}", "selector: {matchLabels: {app: m}}", "selector"),
    ("selector: {matchLabels: {app: musterd}}\n---", "selector: {matchLabels: {app: m}}\n---",
     "selects no pods"),
    ("labelSelector: {matchLabels: {app: musterd}}", "labelSelector: {matchLabels: {app: m}}", "affinity"),
    ("maxUnavailable: 1", "maxUnavailable: 2", "majority"),
    ("serviceName: musterd", "serviceName: muster", "headless"),
    ("  clusterIP: None\n", "", "headless"),
    ("{name: http, port: 9002}", "{name: http, port: 9003}", "listens"),
    ("name: musterd\n  labels", "name: Musterd\n  labels", "name in Kubernetes"),
    ("runAsUser: 999", "runAsUser: 0", "root"),
    ("image: musterd:latest", "image: muster-d:latest", "no package"),
    ("- --engine=managed", "- --engines=managed", "no option"),
    ("- --id=musterd-0", "- --id=$(POD)", "env"),
    ("- --id=musterd-1", "- --id=musterd-0", "--id"),
    ("- name: NAME", "- name: NA-ME", "variable"),
    ("- name: NAME", "- name: MUSTER_NAME", "does not read"),
    ("fieldPath: metadata.name", "fieldPath: metadata.nam", "no field metadata.nam"),
    ("path: /readyz", "path: /ready", "serve"),
    ("path: /healthz, port: http", "path: /healthz, port: grpc", "HTTP"),
    ("path: /healthz, port: http, scheme: HTTPS", "path: /healthz, port: http", "scheme"),
    ("containerPort: 9001", "containerPort: 9101", "ports"),
    ("--listen=0.0.0.0:9000", "--listen=127.0.0.1:9000", "--listen"),
    ("musterd-2=musterd-2-0.musterd:9001", "musterd-2=musterd-2-0.muster:9001", "--peers"),
    ("--advertise=$(NAME).musterd:9000", "--advertise=$(NAME):9000", "--advertise"),
    ("{name: state, mountPath", "{name: stat, mountPath", "no volume"),
    ("            - {name: tmp, mountPath: /tmp}\n", "", "not mounted"),
    ("mountPath: /tmp}", "mountPath: /var/lib/muster}", "mountPath"),
    ("--data-dir=/var/lib/muster", "--data-dir=/tmp", "--data-dir"),
    ("--cert=/etc/muster/tls/", "--cert=/etc/tls/", "--cert"),
    ("            - --crl-file=/etc/muster/ca/crl.pem\n", "", "--crl-file"),
    ("fsGroupChangePolicy: OnRootMismatch", "fsGroupChangePolicy: Always", "fsGroupChangePolicy"),
    ("memory: 128Mi", "memory: 128MB", "memory"),
]
IN_THE_DEPLOYMENT = [
    ("apps/v1", "v1", "kind"),
    ("labels: {app: billing}", "labels: {app: invoices}", "selector"),
    ("run, --name", "run, --election", "no option"),
    ("[muster, run", "[musters, run", "no package"),
    ("MUSTER_LEASE_TIMEOUT", "MUSTER_LEASE", "does not read"),
    ("MUSTER_ARBITER", "MUSTER-ARBITER", "variable"),
    ('value: "s3://bucket/app?region=eu-central-1"', "value: 7", "must be str"),
]


class ContainerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="muster-container-")
        cls.addClassCleanup(directory.cleanup)
        cls.facts = Facts(BUILD, directory.name)

    def test_programs_were_asked_and_answered(self):
        self.assertEqual(self.facts.ports, {9000, 9001, 9002})
        self.assertLessEqual({"/healthz", "/readyz"}, self.facts.paths)
        self.assertIn("--peers", self.facts.options("musterd"))
        self.assertIn("MUSTER_LEASE_TIMEOUT", self.facts.variables("muster", "run"))

    def test_nothing_is_wrong_with_the_containerfile(self):
        self.assertEqual(containerfile.problems(CONTAINERFILE, self.facts), [])

    def test_nothing_is_wrong_with_the_manifest(self):
        self.assertEqual(manifest.problems(MANIFEST, self.facts), [])

    def test_nothing_is_wrong_with_the_deployment_in_the_documents(self):
        self.assertEqual(manifest.problems(DEPLOYMENT, self.facts), [])

    def test_faults_are_found(self):
        for text, check, faults in ((CONTAINERFILE, containerfile, IN_THE_CONTAINERFILE),
                                    (MANIFEST, manifest, IN_THE_MANIFEST),
                                    (DEPLOYMENT, manifest, IN_THE_DEPLOYMENT)):
            for right, wrong, word in faults:
                with self.subTest(check=check.__name__, wrong=wrong):
                    self.assertIn(right, text)
                    found = check.problems(text.replace(right, wrong, 1), self.facts)
                    self.assertIn(word, "\n".join(found))

    @contextlib.contextmanager
    def recipe_followed(self):
        """The directory in which the commands at the head of the manifest were run."""
        with tempfile.TemporaryDirectory(prefix="muster-secret-") as directory:
            subprocess.run(["bash", "-c", manifest.secret_recipe(MANIFEST)], cwd=directory, check=True,
                           stdout=subprocess.DEVNULL,
                           env={"PATH": f"{self.facts.tree}/usr/bin:/usr/bin:/bin"})
            yield pathlib.Path(directory)

    def test_each_pod_has_its_own_key_and_nobody_the_authoritys(self):
        with self.recipe_followed() as directory:
            made = manifest.given((directory / "words").read_text(encoding="utf-8"))
            for files in made.values():
                for file in files.values():
                    self.assertTrue((directory / file).is_file(), file)
                    self.assertNotIn("ca.key", file)
            for each in SETS:
                server, pod = each["metadata"]["name"], each["spec"]["template"]["spec"]
                options = manifest.flags(pod["containers"][0]["args"])
                mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
                there = {}
                for volume in pod["volumes"]:
                    name = volume.get("secret", {}).get("secretName") or volume.get("configMap", {}).get("name")
                    for key, file in made.get(name, {}).items():
                        there[f"{mounts[volume['name']]}/{key}"] = file
                self.assertEqual({there.get(options[flag]) for flag in manifest.TLS_FLAGS},
                                 {f"tls/{server}.crt", f"tls/{server}.key", "tls/ca.crt", "tls/crl.pem"})
                self.assertEqual(sorted(there), sorted(options[flag] for flag in manifest.TLS_FLAGS), "and no more")

    def test_the_servers_differ_in_their_name_only(self):
        texts = [yaml.safe_dump(each).replace(each["metadata"]["name"], "SERVER") for each in SETS]
        without_peers = {re.sub(r"--peers=\S+", "", text) for text in texts}
        self.assertEqual(len(SETS), 3)
        self.assertEqual(len(without_peers), 1)

    def test_certificates_have_every_name_that_a_client_may_dial(self):
        service = STATEFUL["spec"]["serviceName"]
        with self.recipe_followed() as directory:
            for each in SETS:
                pod = each["metadata"]["name"]
                for name in (service, f"{pod}-0.{service}"):
                    for domain in ("", ".default.svc", ".default.svc.cluster.local"):
                        said = subprocess.run(
                            ["openssl", "x509", "-noout", "-checkhost", name + domain, "-in",
                             directory / f"tls/{pod}.crt"], check=True, capture_output=True, text=True)
                        self.assertIn("does match", said.stdout, pod)

    def test_the_commands_of_the_document_name_what_there_is(self):
        words = shlex.split("\n".join(re.findall(r"^```sh\n(.*?)^```$", IN_CONTAINERS, re.M | re.S)),
                            comments=True)
        self.assertIn("--build-arg", words)
        name, value = words[words.index("--build-arg") + 1].split("=", 1)
        self.assertIn(f"ARG {name}=", CONTAINERFILE)
        self.assertEqual(value, "$VERSION_ID")
        self.assertIn(f" AS {words[words.index('--target') + 1]}\n", CONTAINERFILE)
        for file in [word for word in words if word.startswith("packaging/")]:
            self.assertTrue((ROOT / file).is_file(), file)
        self.assertEqual({word.rstrip(";") for word in words if word.startswith("statefulset/")},
                         {"statefulset/musterd-$n"})
        (container,) = POD["containers"]
        image = words[words.index("image") + 2]
        self.assertEqual(image.split(":")[0], f"{container['name']}={container['image'].split(':')[0]}")
        (ca,) = [volume["configMap"]["name"] for volume in POD["volumes"] if "configMap" in volume]
        self.assertIn(ca, words[words.index("configmap") + 1:][:2])


unittest.main(argv=sys.argv[:1], verbosity=2)
