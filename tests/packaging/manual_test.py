#!/usr/bin/env python3
"""The manual page of musterd as it is installed: it has the sections that people look for, every option
of --help, an example that can be copied, and nothing that a formatter complains about.

usage: manual_test.py BUILD_DIRECTORY | --root SYSTEM
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from facts import ROOT, Facts


def run(*words, **environment):
    """What it prints; complaints, even those that fail nothing, are a failure."""
    done = subprocess.run(words, check=True, capture_output=True, text=True,
                          env={**os.environ, **environment})
    if done.stderr:
        raise AssertionError(done.stderr)
    return done.stdout


class ManualPageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if sys.argv[1] == "--root":
            cls.tree = pathlib.Path(sys.argv[2])
        else:
            directory = tempfile.TemporaryDirectory(prefix="muster-manual-")
            cls.addClassCleanup(directory.cleanup)
            cls.tree = Facts(sys.argv[1], directory.name).tree
        cls.page = cls.tree / "usr/share/man/man8/musterd.8"
        cls.help = run(cls.tree / "usr/bin/musterd", "--help")

    def shown(self, locale):
        text = run("man", "--warnings", "--no-hyphenation", "-P", "cat", "-l", self.page, LC_ALL=locale,
                   MANWIDTH="200", MANROFFOPT="-c")
        return re.sub(r".\x08", "", text)

    def test_formatters_have_nothing_to_complain_about(self):
        run("mandoc", "-T", "lint", self.page)
        self.assertIn('"musterd - ', run("lexgrog", self.page))

    def test_it_can_be_read_in_any_locale(self):
        for locale in ("C", "C.UTF-8"):
            text = self.shown(locale)
            self.assertNotIn("???", text)
            self.assertIn("--peers ID=HOST:PORT,...", text)

    def test_it_has_the_sections_that_people_look_for(self):
        text = self.shown("C.UTF-8")
        sections = re.findall(r"(?m)^([A-Z][A-Z ]+)$", text)
        self.assertEqual(sections, ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "ENVIRONMENT",
                                    "EXIT STATUS", "EXAMPLES", "FILES", "SEE ALSO"])
        self.assertRegex(text, r"SYNOPSIS\n +musterd \[options\]\n")
        status = text.split("\nEXIT STATUS\n")[1].split("\nEXAMPLES\n")[0]
        codes = re.findall(r"(?m)^constexpr int k\w+ = (\d+);",
                           (ROOT / "src/server/main.cc").read_text(encoding="utf-8"))
        self.assertEqual(re.findall(r"\b\d+\b", status), ["0", *codes])

    def test_it_has_every_option_of_help(self):
        text = self.shown("C.UTF-8")
        options = re.findall(r"(?m)^  (--[a-z0-9-]+)", self.help)
        self.assertGreater(len(options), 40)
        for option in [*options, "--version"]:
            self.assertRegex(text, rf"(?m)^ +{option}(,| |$)")

    def test_its_example_is_that_of_help_line_by_line(self):
        text = self.shown("C.UTF-8")
        lines = self.help.split("\nExample:\n")[1].splitlines()
        self.assertGreater(len(lines), 2)
        self.assertIn("\n".join(" " * 7 + line for line in lines), text)


unittest.main(argv=sys.argv[:1], verbosity=2)
