#!/usr/bin/env python3
"""Compares the hash rings of examples/ring with the test vectors, and docs/formats.md with them."""
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1])
RING = SOURCE / "examples/ring"
VECTORS = RING / "vectors.txt"
LANGUAGES = {"Python": [sys.executable, RING / "ring.py"], "Node": ["node", RING / "ring.js"]}


class RingTest(unittest.TestCase):
    def run_check(self, command, vectors):
        words = [str(word) for word in [*command, vectors]]
        return subprocess.run(words, capture_output=True, text=True, timeout=30)

    def test_every_implementation_gives_the_answers_of_the_vectors(self):
        for language, command in LANGUAGES.items():
            with self.subTest(language):
                done = self.run_check(command, VECTORS)
                self.assertEqual((done.returncode, done.stdout), (0, "70 vectors agree\n"),
                                 done.stderr)

    def test_the_vectors_of_all_languages(self):
        found = importlib.util.spec_from_file_location("ring", RING / "ring.py")
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        cases = json.loads((SOURCE / "bindings/vectors.json").read_text(encoding="utf-8"))["ring"]
        self.assertGreater(len(cases), 5)
        for case in cases:
            ring = module.Ring(case["weights"], case["virtual_nodes"], case["replication"])
            for key, owners in case["owners"].items():
                self.assertEqual(ring.owners(key), owners, key)

    def test_a_wrong_vector_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            wrong = pathlib.Path(folder) / "vectors.txt"
            text = VECTORS.read_text(encoding="utf-8")
            for right in ("owners hello o4,o5,o2", "key hello 1054880662928880172"):
                wrong.write_text(text.replace(right, right[:-1] + "9"), encoding="utf-8")
                for language, command in LANGUAGES.items():
                    with self.subTest(language, vector=right):
                        self.assertEqual(self.run_check(command, wrong).returncode, 1)

    def test_the_document_shows_some_of_them(self):
        text = (SOURCE / "docs/formats.md").read_text(encoding="utf-8")
        shown = re.findall(r"^    ((?:key|virtual|ring|owners) .*)$", text, re.MULTILINE)
        self.assertGreater(len(shown), 5)
        vectors = VECTORS.read_text(encoding="utf-8").splitlines()
        self.assertEqual([line for line in shown if line not in vectors], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
