#!/usr/bin/env python3
"""The store of examples/sqlite-store, which docs/writing-a-store.md shows, as a project of its own: built with the
installed library, checked, and put in charge of an election between two processes, of which one is killed.

usage: own_store_test.py BUILD_DIRECTORY
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/sqlite-store"
LINES_MOST = 150


def run(*words, **more):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=200,
                          **more)


class OwnStore(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        # pylint: disable=consider-using-with
        cls.scratch = tempfile.TemporaryDirectory(prefix="muster-own-store-")
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        for component in ("lib", "dev"):
            done = run("cmake", "--install", BUILD, "--component", component, "--prefix", cls.folder / "prefix")
            assert done.returncode == 0, done.stdout
        library = next((cls.folder / "prefix").rglob("libmuster.so"))
        os.environ["LD_LIBRARY_PATH"] = str(library.parent)
        cls.built = cls.build("right", lambda text: text)

    @classmethod
    def build(cls, name, change):
        """The example, with the store as `change` makes it of the right one."""
        project, built = cls.folder / name, cls.folder / f"{name}-built"
        project.mkdir()
        for file in EXAMPLE.iterdir():
            text = file.read_text(encoding="utf-8")
            (project / file.name).write_text(change(text) if file.suffix == ".h" else text, encoding="utf-8")
        for words in (["cmake", "-S", project, "-B", built, "-G", "Ninja", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror",
                       f"-DCMAKE_PREFIX_PATH={cls.folder}/prefix", "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF"],
                      ["cmake", "--build", built]):
            done = run(*words)
            assert done.returncode == 0, done.stdout
        return built

    def checked(self, built):
        with tempfile.TemporaryDirectory(dir=self.folder) as data:
            return run(built / "check", data)

    def test_the_document_shows_it_and_it_is_short(self):
        text = (EXAMPLE / "sqlite_store.h").read_text(encoding="utf-8")
        self.assertLess(text.count("\n"), LINES_MOST)
        document = (ROOT / "docs/writing-a-store.md").read_text(encoding="utf-8")
        for language, name in (("cpp", "sqlite_store.h"), ("cpp", "check.cc"), ("cmake", "CMakeLists.txt")):
            self.assertIn(f"```{language}\n{(EXAMPLE / name).read_text(encoding='utf-8')}```\n", document, name)

    def test_it_passes_every_check(self):
        done = self.checked(self.built)
        self.assertRegex(done.stdout, r"^2\d checks, 0 failures\n$")
        self.assertEqual(done.returncode, 0)

    def test_one_that_ignores_revisions_does_not(self):
        done = self.checked(self.build("wrong", lambda text: text.replace("AND revision = ?3 ", "AND ?3 = ?3 ")))
        self.assertEqual(done.returncode, 1)
        self.assertIn("stale revision: put() at an outdated revision succeeded and should have returned kConflict",
                      done.stdout)

    def test_a_killed_leader_is_replaced(self):
        url = f"sqlite://{self.folder}/election.db"
        voters = []
        try:
            for _ in range(2):
                # pylint: disable=consider-using-with
                voters.append(subprocess.Popen([self.built / "elect", url], stdout=subprocess.PIPE, text=True))
                if len(voters) == 1:
                    self.assertEqual(voters[0].stdout.readline(), "leading with token 1\n")
            os.kill(voters[0].pid, signal.SIGKILL)
            self.assertEqual(voters[0].wait(), -signal.SIGKILL)
            self.assertRegex(voters[1].stdout.readline(), r"^leading with token ([2-9]|\d\d+)\n$")
            self.assertIsNone(voters[1].poll())
        finally:
            for voter in voters:
                voter.kill()
                voter.wait()
                voter.stdout.close()

    def test_it_works_by_pkg_config(self):
        folder = next((self.folder / "prefix").rglob("muster.pc")).parent
        flags = run("pkg-config", "--cflags", "--libs", "muster", "sqlite3",
                    env={**os.environ, "PKG_CONFIG_PATH": str(folder)}).stdout.split()
        document = (ROOT / "docs/writing-a-store.md").read_text(encoding="utf-8")
        shown = re.search(r"^g\+\+ .*$", document, re.MULTILINE)[0]
        self.assertIn("-lmuster_testing $(pkg-config --cflags --libs muster sqlite3)", shown)
        done = run("g++", "-std=c++20", EXAMPLE / "check.cc", "-o", self.folder / "by-pkg-config", f"-L{folder.parent}",
                   "-lmuster_testing", *flags)
        self.assertEqual(done.returncode, 0, done.stdout)


os.environ["LC_ALL"] = "C"
unittest.main(argv=sys.argv[:1], verbosity=2)
