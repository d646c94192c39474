#!/usr/bin/env python3
"""docs/defects.md has a row for every id, and every test that it or docs/promises.md names exists; with
--results, it also ran and passed."""

import pathlib
import re
import xml.etree.ElementTree

import common

TEST = re.compile(r"TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)")
SCRIPTED = re.compile(r"def (test_\w+)\(self")
NAMED = re.compile(r"`(\w+\.\w+|test_\w+)`")
ROW = re.compile(r"^\| ([STCPR]\d\d) \|")
LAST = {"S": 21, "T": 27, "C": 18, "P": 26, "R": 67}  # Of each letter: they begin at 1, without a gap.


PROMISES = "docs/promises.md"
PROMISE = re.compile(r"^\| (?!promise \|)(.+) \| (.*) \|$")


def add_options(parser):
    parser.add_argument("--results", type=pathlib.Path,
                        help="the folder that GTEST_OUTPUT=xml: named while the tests ran")


def plain(name):
    """Prefix/Suite and Test/3 are how a parameterized Suite.Test is written down."""
    return [part for part in name.split("/") if not part.isdigit()]


def passed_tests(folder):
    """The tests that ran to their end and passed. One that failed as well, beside others, is the
    concern of the person who ran them."""
    return {f"{plain(case.get('classname'))[-1]}.{plain(case.get('name'))[0]}"
            for path in sorted(folder.glob("*.xml"))
            for case in xml.etree.ElementTree.parse(path).iter("testcase")
            if case.find("failure") is None and case.get("result") == "completed"}


def existing_tests(root):
    return {".".join(found) for path in common.sources(root)
            for found in TEST.findall(common.read(root, path))}


def scripted_tests(root):
    """Those in Python. They run as parts of one test of ctest, which fails when one of them does."""
    return {name for path in sorted((root / "tests").rglob("*.py"))
            for name in SCRIPTED.findall(path.read_text(encoding="utf-8"))}


def look_at_tests(path, number, what, text):
    named = NAMED.findall(text)
    if not named:
        check.report(path, number, f"{what} names no test.")
    for test in named:
        if test not in known:
            check.report(path, number, f"{what} names {test}, which does not exist.")
        elif test not in ran:
            check.report(path, number, f"{what} names {test}, which did not run and pass.")


check = common.Check("ledger", __doc__, add_options)
scripted = scripted_tests(check.root)
known = existing_tests(check.root) | scripted
ran = passed_tests(check.options.results) | scripted if check.options.results else known
ledger = check.root / "docs" / "defects.md"
lines = ledger.read_text().splitlines() if ledger.exists() else []
missing = [f"{letter}{number:02}" for letter, last in LAST.items() for number in range(1, last + 1)]
for number, line in enumerate(lines, 1):
    row = ROW.match(line)
    if not row:
        continue
    if row[1] not in missing:
        check.report("docs/defects.md", number, f"{row[1]} is there twice, or beyond the last.")
    else:
        missing.remove(row[1])
    look_at_tests("docs/defects.md", number, row[1], line.rsplit(" | ", 1)[-1])
promises = check.root / PROMISES
for number, line in enumerate(promises.read_text().splitlines() if promises.exists() else [], 1):
    if row := PROMISE.match(line):
        look_at_tests(PROMISES, number, f'"{row[1]}"', row[2])
for each in missing:
    check.report("docs/defects.md", max(1, len(lines)), f"{each} is missing.")
check.finish()
