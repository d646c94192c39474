#!/usr/bin/env python3
"""Lets spin search every state of the model. MUSTER_SOAK=1 adds the large instances."""
# Takes about 50 s, and 100 s beside other tests: thirteen instances, for each of which gcc compiles the search
# that spin writes; it then goes through every state.
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

MODEL = pathlib.Path(sys.argv[1]).resolve()
SOAK = bool(os.environ.get("MUSTER_SOAK"))
# Small searches take less time than the compiler does.
OPTIMIZATION = "-O2" if SOAK else "-O1"
SMALL = ["WORKERS=2", "REVISIONS=4", "RESTARTS=0"]
WRONG = {  # What is left out, and the promise that breaks.
    "NO_SELF_FENCING": "leads",         # E2
    "NO_DRIFT": "leads",                # E2
    "COUNT_FROM_REPLY": "leads",        # E2
    "REUSE_EPOCH": "last_term",         # E1
    "REVIVE": "last_term",              # E1
    "OBSERVE_FROM_REQUEST": "leads",    # E3
    "LEAD_ON_AFTER_RELEASE": "leads",   # E5
    "IGNORE_FAILURE": "last_term",      # E6
    "NO_FENCE": "resource_epoch",       # The resource takes what comes.
}


def search(*defines):
    """What the search printed. Fails unless it went through every state or found a violation."""
    with tempfile.TemporaryDirectory() as directory:
        def run(*words):
            return subprocess.run(words, cwd=directory, check=True, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        run("spin", "-a", *[f"-D{define}" for define in defines], MODEL)
        run("gcc", OPTIMIZATION, "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=12000", "pan.c", "-opan")
        began = time.monotonic()
        text = run("./pan", "-m1000000")
        states = re.search(r"(\S+) states, stored", text)[1]
        print(f"{' '.join(defines)}: {states} states, {time.monotonic() - began:.1f} s", flush=True)
        return text


class Case(unittest.TestCase):
    def holds(self, *defines):
        text = search(*defines)
        self.assertRegex(text, r"errors: 0\n", defines)
        # A search that ran out of memory or depth has not seen everything.
        self.assertNotRegex(text, r"Search not completed|max search depth too small", defines)


class ModelTest(Case):
    def test_two_workers(self):
        self.holds(*SMALL)
        self.holds("WORKERS=2", "REVISIONS=3", "RESTARTS=1")
        self.holds("WORKERS=2", "REVISIONS=1", "RESTARTS=0", "SLOTS=2")
        self.holds("WORKERS=2", "REVISIONS=3", "RESTARTS=0", "RESOURCE")

    def test_without_one_of_the_rules_a_promise_breaks(self):
        for rule, broken in WRONG.items():
            with self.subTest(rule=rule):
                found = re.search(r"assertion violated (.*)", search(*SMALL, f"WRONG_{rule}",
                                  *(["RESOURCE"] if rule == "NO_FENCE" else [])))
                self.assertIsNotNone(found, "the search found nothing wrong")
                self.assertIn("hold" if broken == "leads" else broken, found[1])


class LargeModelTest(Case):
    """What takes minutes and gigabytes."""

    def test_three_workers(self):
        self.holds("WORKERS=3", "REVISIONS=4", "RESTARTS=0")

    def test_two_workers_for_longer(self):
        self.holds("WORKERS=2", "REVISIONS=4", "RESTARTS=2")
        self.holds("WORKERS=2", "REVISIONS=3", "RESTARTS=0", "SLOTS=2")
        self.holds("WORKERS=2", "REVISIONS=3", "RESTARTS=1", "RESOURCE")


if not SOAK:
    del LargeModelTest
unittest.main(argv=sys.argv[:1])
