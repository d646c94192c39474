#!/usr/bin/env python3
"""Asks a server with certificates over HTTPS, as those who may, those who may not, and those who may no more.

usage: https_test.py DIRECTORY_OF_PROGRAMS
"""

import pathlib
import re
import signal
import ssl
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

from watching import BIN, eventually


class HttpsTest(unittest.TestCase):
    """T21: the rules of certificates hold on the HTTP listener, too."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="muster-https-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.certs("init")
        cls.certs("issue", "--role", "server", "--id", "s1", "--san", "localhost,127.0.0.1")
        cls.certs("issue", "--role", "reader", "--id", "ann")
        cls.certs("issue", "--role", "node", "--id", "n1", "--san", "10.0.0.1")
        cls.certs("crl")
        pki = cls.folder / "pki"
        cls.server = subprocess.Popen(
            [BIN / "musterd", "--id", "s1", "--data-dir", cls.folder / "data", "--listen",
             "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--cert", pki / "s1.crt", "--key",
             pki / "s1.key", "--cacert", pki / "ca.crt", "--crl-file", pki / "crl.pem"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.addClassCleanup(cls.end)
        cls.server.stdout.readline()
        cls.base = re.search(r"(https://\S+?)/?$", cls.server.stdout.readline().strip()).group(1)
        eventually("ready", lambda: cls.ask("/readyz")[0] == 200)

    @classmethod
    def end(cls):
        cls.server.terminate()
        cls.server.wait()
        cls.server.stdout.close()

    @classmethod
    def certs(cls, *words):
        subprocess.run([BIN / "muster", "certs", words[0], "--dir", cls.folder / "pki", *words[1:]],
                       check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def context(cls, who=None):
        context = ssl.create_default_context(cafile=cls.folder / "pki" / "ca.crt")
        if who:
            context.load_cert_chain(cls.folder / "pki" / f"{who}.crt",
                                    cls.folder / "pki" / f"{who}.key")
        return context

    @classmethod
    def open(cls, path, who=None):
        return urllib.request.urlopen(cls.base + path, context=cls.context(who), timeout=10)

    @classmethod
    def ask(cls, path, who=None):
        try:
            with cls.open(path, who) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def test_1_the_role_decides(self):
        self.assertEqual(self.ask("/healthz")[0], 200)
        for path in ("/", "/api/overview", "/metrics", "/api/events"):
            self.assertEqual(self.ask(path)[0], 403, path)
            self.assertEqual(self.ask(path, "n1")[0], 403, path)
        self.assertEqual(self.ask("/api/overview", "ann")[0], 200)
        status, text = self.ask("/metrics", "ann")
        self.assertEqual(status, 200)
        for name in ("muster_tls_certificate_left_seconds", "muster_tls_crl_age_seconds"):
            self.assertRegex(text, rf"(?m)^# HELP {name} ")
        days = {name: float(re.search(rf"(?m)^muster_tls_crl_{name}_seconds (\S+)$", text)[1]) / 86400
                for name in ("term", "left")}
        self.assertAlmostEqual(days["term"], 365, delta=1)
        self.assertAlmostEqual(days["left"], 365, delta=1)

    def test_2_neither_plaintext_nor_an_older_version_is_spoken(self):
        with self.assertRaises(OSError):
            urllib.request.urlopen(self.base.replace("https:", "http:") + "/healthz", timeout=10)
        old = self.context("ann")
        old.minimum_version = ssl.TLSVersion.TLSv1_2
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        with self.assertRaises(OSError):
            urllib.request.urlopen(self.base + "/healthz", context=old, timeout=10)

    def test_3_who_is_revoked_loses_its_open_stream(self):
        stream = self.open("/api/events", "ann")
        self.assertEqual(stream.status, 200)
        self.certs("revoke", "--id", "ann")
        self.server.send_signal(signal.SIGHUP)
        while stream.read1(65536):
            pass  # Until the server ends it; the timeout of the connection bounds this.

        def refused():
            try:
                return self.ask("/api/overview", "ann")[0] == 403
            except OSError:
                return True  # In the handshake already.

        eventually("refused", refused)


if __name__ == "__main__":
    unittest.main(verbosity=2)
