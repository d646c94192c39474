#!/usr/bin/env python3
"""Runs the programs of docs/leading-from.md as they stand, on a directory and on musterd, and compares what it shows of
others with them.

usage: leading_test.py BUILD_DIRECTORY COMPILER
"""
# Takes about 20 s: a program in C++ is compiled, and programs hand over to each other at each kind of address.
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

from surroundings import ROOT, free_port

BUILD = pathlib.Path(sys.argv[1]).resolve()
COMPILER = sys.argv[2]
TEXT = (ROOT / "docs/leading-from.md").read_text(encoding="utf-8")
LIBRARY = BUILD / "libmuster.so.0"


def block(language):
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.M | re.S)
    return found


class LeadingTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="muster-leading-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {**os.environ, "MUSTER_LIBRARY": str(LIBRARY)}

    def write(self, name, language):
        path = self.folder / name
        path.write_text(block(language), encoding="utf-8")
        return path

    def start(self, *command, **more):
        child = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                                 env=self.environment, **more)

        def end():
            child.kill()
            child.wait()
            child.stdout.close()

        self.addCleanup(end)
        return child

    def musterd(self):
        address = f"127.0.0.1:{free_port()}"
        server = self.start(BUILD / "bin/musterd", "--dev", "--listen", address, "--http-listen", "off", "--data-dir",
                            self.folder / "musterd", stderr=subprocess.STDOUT)
        while "leading" not in (line := server.stdout.readline()):
            self.assertTrue(line, "it has ended")
        return address

    def hands_over(self, *command):
        """At each address: two processes, of which the first is asked to end."""
        server = self.musterd()
        addresses = [f"file://{self.folder}/store", f"muster://{server}/app"]
        if command[0] == "node":
            addresses.append(f"grpc://{server}/other")
        for address in addresses:
            with self.subTest(address):
                first = self.start(*command, address, "report")
                self.assertEqual(first.stdout.readline(), "working, token 1\n")
                second = self.start(*command, address, "report")
                self.assertEqual(first.stdout.readline(), "working, token 1\n")
                first.send_signal(signal.SIGTERM)
                self.assertEqual(first.wait(30), 0)
                self.assertEqual(second.stdout.readline(), "working, token 2\n")
                second.send_signal(signal.SIGTERM)
                self.assertEqual(second.wait(30), 0)

    def test_cpp(self):
        program = self.folder / "lead"
        subprocess.run([COMPILER, "-std=c++20", f"-I{ROOT}/include", f"-I{BUILD}/include", self.write("lead.cc", "cpp"),
                        "-o", program, LIBRARY, f"-Wl,-rpath,{BUILD}", "-pthread"], check=True)
        self.hands_over(program)

    def test_python(self):
        self.environment["PYTHONPATH"] = str(ROOT / "bindings/python/src")
        self.hands_over(sys.executable, self.write("lead.py", "python"))

    def test_node(self):
        modules = BUILD / "npm-node"
        for package in ("@grpc/grpc-js 1.14.7", "@grpc/proto-loader 0.8.1", "koffi 3.3.4"):
            subprocess.run([ROOT / "tools/testing/npm_install.sh", modules, *package.split()], check=True)
        tree = self.folder / "tree"
        tree.mkdir()
        (tree / "muster").symlink_to(ROOT / "bindings/node")
        self.environment["NODE_PATH"] = f"{modules}/node_modules:{tree}"
        self.hands_over("node", self.write("lead.js", "js"))

    def test_go_and_java_are_shown_as_they_are(self):
        for language, source in (("go", "examples/go/lead/main.go"), ("java", "examples/java/Lead.java")):
            lines = (ROOT / source).read_text(encoding="utf-8").splitlines()
            shown = block(language).splitlines()
            found = [at for at in range(len(lines)) if lines[at].strip() == shown[0].strip()]
            self.assertTrue(any(textwrap.dedent("\n".join(lines[at:at + len(shown)])) == "\n".join(shown) for at in found),
                            f"{source} has changed")


unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
