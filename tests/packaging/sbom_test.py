#!/usr/bin/env python3
"""The list of what is shipped names every package of ours, each of its programs, and every Debian package whose
library a program of it loads.

usage: sbom_test.py DIRECTORY_OF_PROGRAMS
"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = [pathlib.Path(sys.argv[1], name) for name in ("muster", "musterd", "muster-guardian", "../libmuster.so.0")]


def sbom(*programs):
    return subprocess.run([ROOT / "packaging/sbom.py", "1.2.3", *programs], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)


class SbomTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.list = json.loads(sbom(*PROGRAMS).stdout)
        cls.packages = {each["SPDXID"]: each for each in cls.list["packages"]}

    def related(self, name, kind):
        return {self.packages[each["relatedSpdxElement"]]["name"] for each in self.list["relationships"]
                if each["spdxElementId"] == f"SPDXRef-{name}" and each["relationshipType"] == kind}

    def test_every_package_that_cpack_makes_is_described_with_its_version(self):
        made = re.findall(r"^set\(CPACK_DEBIAN_\w+_PACKAGE_NAME (\S+)\)",
                          (ROOT / "cmake/packages.cmake").read_text(encoding="utf-8"), re.M)
        self.assertEqual(sorted(made), ["libmuster-dev", "libmuster0", "muster", "musterd"])
        self.assertEqual(self.related("DOCUMENT", "DESCRIBES"), set(made))
        for name in made:
            self.assertEqual(self.packages[f"SPDXRef-{name}"]["versionInfo"], "1.2.3")

    def test_each_names_the_packages_that_its_own_programs_load(self):
        for name, library in (("muster", "libssl3"), ("musterd", "libprotobuf"), ("libmuster0", "libnghttp2-14")):
            self.assertTrue(any(each.startswith(library) for each in self.related(name, "DYNAMIC_LINK")), library)
        for name in ("muster", "musterd"):
            self.assertIn("nlohmann-json3-dev", self.related(name, "STATIC_LINK"))
        loaded = subprocess.run(["ldd", PROGRAMS[1]], stdout=subprocess.PIPE, text=True, check=True).stdout
        named = self.related("musterd", "DYNAMIC_LINK")
        files = {pathlib.Path(path).resolve().name for path in re.findall(r"=> (/\S+)", loaded)}
        said = subprocess.run(["dpkg", "-L", *named], stdout=subprocess.PIPE, text=True, check=True).stdout
        held = {line.rsplit("/", 1)[-1] for line in said.splitlines()}
        self.assertGreater(len(files), 6)
        self.assertEqual(files - held, set(), "no package that is named has these")

    def test_a_program_that_no_package_has_is_refused(self):
        self.assertIn("in no package", sbom(*PROGRAMS, "/bin/true").stderr)
        self.assertIn("is not given", sbom(*PROGRAMS[:2]).stderr)


unittest.main(argv=sys.argv[:1], verbosity=2)
