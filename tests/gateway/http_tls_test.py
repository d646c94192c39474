#!/usr/bin/env python3
"""Asks a server with certificates over /v1, with each role, and with none.

usage: http_tls_test.py DIRECTORY_OF_PROGRAMS
"""

import json
import pathlib
import signal
import ssl
import subprocess
import tempfile
import unittest
import urllib.request
import uuid

from scene import BIN, Server, curl, eventually


class HttpTlsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="muster-http-tls-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.pki = cls.folder / "pki"
        cls.certs("init")
        for role, name, more in (("server", "s1", ["--san", "localhost,127.0.0.1"]),
                                 ("node", "n1", ["--san", "10.0.0.1"]), ("reader", "ann", []), ("admin", "op", []),
                                 ("agent", "a1", ["--san", "10.0.0.9", "--carry", "rack-*"])):
            cls.certs("issue", "--role", role, "--id", name, *more)
        cls.certs("crl")
        cls.audit = cls.folder / "audit.jsonl"
        cls.server = Server(
            cls.folder, "s1",
            ["--cert", cls.pki / "s1.crt", "--key", cls.pki / "s1.key", "--cacert", cls.pki / "ca.crt", "--crl-file",
             cls.pki / "crl.pem", "--audit-log", cls.audit], wait=False)
        cls.addClassCleanup(cls.server.end)
        eventually("ready", lambda: cls.ask(None, "/readyz")[0] == 200)

    @classmethod
    def certs(cls, *words):
        subprocess.run([BIN / "muster", "certs", words[0], "--dir", cls.pki, *words[1:]], check=True,
                       stdout=subprocess.DEVNULL)

    @classmethod
    def ask(cls, who, path, method="GET", body=None):
        words = ["--cacert", str(cls.pki / "ca.crt"), "-X", method]
        if who:
            words += ["--cert", str(cls.pki / f"{who}.crt"), "--key", str(cls.pki / f"{who}.key")]
        if body is not None:
            words += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        return curl(*words, cls.server.url + path)

    @staticmethod
    def node(address="10.0.0.1"):
        return {"service": "object", "address": address, "port": 7000, "generation_id": str(uuid.uuid4())}

    def test_1_the_role_behind_the_method_decides(self):
        for who in ("ann", "op", "n1", "a1"):
            self.assertEqual(self.ask(who, "/v1/nodes")[0], 200, who)
            self.assertEqual(self.ask(who, "/v1/openapi.json")[0], 200, who)
            self.assertEqual(self.ask(who, "/v1/elections/a:b@c")[0], 404, who)
        for path in ("/v1/nodes", "/v1/openapi.json"):
            status, told = self.ask(None, path)
            self.assertEqual(status, 403, told)
            self.assertEqual(json.loads(told)["error"]["code"], "PERMISSION_DENIED")
            self.assertIn("a certificate is required", told)
        for path, who, address, status, says in (
                ("n1", "ann", "10.0.0.1", 403, "does not allow"),
                ("n2", "n1", "10.0.0.1", 403, "cannot speak for node n2"),
                ("n1", "n1", "10.0.0.2", 403, "does not hold the address"),
                ("n1", "n1", "10.0.0.1", 200, "topology_version"),
                ("rack-7", "a1", "10.0.0.9", 200, "topology_version"),
                ("shed-7", "a1", "10.0.0.9", 403, "does not carry node shed-7"),
                ("n3", "op", "10.0.0.3", 200, "topology_version")):
            got, told = self.ask(who, f"/v1/nodes/{path}", "PUT", self.node(address))
            self.assertEqual(got, status, (path, who, told))
            self.assertIn(says, told)

    def test_2_the_audit_log_names_the_certificate_and_refusals(self):
        self.ask("op", "/v1/nodes/audited", "PUT", self.node())
        self.ask("ann", "/v1/nodes/refused", "PUT", self.node())
        records = [json.loads(line) for line in self.audit.read_text(encoding="utf-8").splitlines()]
        found = {record["subject"]: (record["caller"], record["code"]) for record in records}
        self.assertEqual(found["audited"], ("admin op", 0))
        self.assertEqual(found["refused"], ("reader ann", 7))

    def test_2_a_reader_looks_at_locks_and_takes_none(self):
        body = {"session": "x1", "ttl_ms": 60000}
        self.assertEqual(self.ask("ann", "/v1/locks/l1", "PUT", body)[0], 403)
        status, told = self.ask("n1", "/v1/locks/l1", "PUT", body)
        self.assertEqual(status, 200, told)
        status, told = self.ask("ann", "/v1/locks/l1")
        self.assertEqual(status, 200, told)
        self.assertEqual(json.loads(told)["holders"][0]["token"], 1)
        self.assertEqual(self.ask("ann", "/v1/locks/l1?session=x1", "DELETE")[0], 403)
        self.assertEqual(self.ask("n1", "/v1/locks/l1?session=x1", "DELETE")[0], 200)

    def test_3_limits_count_the_certificate(self):
        codes = [self.ask("a1", "/v1/nodes/rack-8", "PUT", self.node("10.0.0.9"))[0] for _ in range(5)]
        self.assertIn(429, codes, "10 a minute, 2 at once")
        self.assertEqual(self.ask("n1", "/v1/nodes")[0], 200)

    def test_4_who_is_revoked_loses_its_watch(self):
        context = ssl.create_default_context(cafile=self.pki / "ca.crt")
        context.load_cert_chain(self.pki / "ann.crt", self.pki / "ann.key")
        stream = urllib.request.urlopen(self.server.url + "/v1/watch/nodes", context=context, timeout=30)
        self.assertEqual(stream.status, 200)
        self.certs("revoke", "--id", "ann")
        self.server.process.send_signal(signal.SIGHUP)
        text = b""
        while chunk := stream.read1(65536):  # Until the server ends it.
            text += chunk
        self.assertIn(b"event: end\ndata: {\"error\":{\"code\":\"PERMISSION_DENIED\"", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
