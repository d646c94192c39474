#!/usr/bin/env python3
"""./dev docs: the reference has a page for every class of the public headers, and a header that doxygen warns of is
an error."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include/muster"
SCRIPT = 'set -euo pipefail; source tools/dev/common.sh; source tools/dev/docs.sh; make_docs "$1"'


class ReferenceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="muster-reference-")
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        (self.tree / "tools").symlink_to(ROOT / "tools")
        shutil.copytree(HEADERS, self.tree / "include/muster")

    def make(self):
        return subprocess.run(["bash", "-c", SCRIPT, "dev", "out"], cwd=self.tree, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_every_class_has_a_page_and_there_is_no_warning(self):
        made = self.make()
        self.assertEqual((made.returncode, made.stdout.strip()), (0, "out/html/index.html"))
        pages = {page.name for page in (self.tree / "out/html").iterdir()}
        for header in HEADERS.rglob("*.h"):
            for name in re.findall(r"^class MUSTER_EXPORT (\w+)", header.read_text(encoding="utf-8"), re.M):
                self.assertTrue(any(re.fullmatch(rf"classmuster_1_1(\w+_1_1)?{name}\.html", page) for page in pages),
                                name)
        self.assertFalse([page for page in pages if "muster_1_1api" in page], "what stands behind the headers")

    def test_a_warning_is_an_error(self):
        header = self.tree / "include/muster/status.h"
        header.write_text(header.read_text(encoding="utf-8") + "/// See \\ref no_such_thing.\nstruct Stray {};\n",
                          encoding="utf-8")
        made = self.make()
        self.assertNotEqual(made.returncode, 0, made.stdout)
        self.assertIn("no_such_thing", made.stdout)


unittest.main()
