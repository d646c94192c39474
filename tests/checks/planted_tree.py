"""A small tree of its own in which a test plants what a check of tools/check must find."""

import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKS = ROOT / "tools" / "check"


class CheckTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="muster-checks-")
        self.addCleanup(self.folder.cleanup)
        self.tree = pathlib.Path(self.folder.name)

    def write(self, path, text):
        target = self.tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text))

    def run_check(self, name, options=()):
        command = [sys.executable, "-B", CHECKS / f"{name}.py", "--root", self.tree, *options]
        return subprocess.run(command, capture_output=True, text=True)

    def assert_passes(self, name, options=()):
        run = self.run_check(name, options)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def assert_finds(self, name, *expected, options=()):
        run = self.run_check(name, options)
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        for words in expected:
            self.assertIn(words, run.stdout)
