#!/usr/bin/env python3
"""docs/mutants.md lists every planted bug of tests/mutants, what its file says catches it, and the seed.

That the named violation is what catches it is what each mutant's test shows.
"""

import pathlib
import re

import common

DOCUMENT = pathlib.PurePosixPath("docs/mutants.md")
SECTION = re.compile(r"^## .*`sim_(\w+)`")
ROW = re.compile(r"^\| (.+) \| `(.+)` \| (.+) \| (\d+) \|$")
COUNT = re.compile(r"\b(\d+) bugs\b")


def planted(check):
    """The path of each mutant, by its simulator and what its row in the document says."""
    result = {}
    for path in common.files(check.root):
        if path.suffix != ".mutant" or path.parts[:2] != ("tests", "mutants"):
            continue
        head = common.read(check.root, path).partition("<<<<\n")[0]
        fields = dict(line.split(": ", 1) for line in head.strip().splitlines())
        if "caught" not in fields:
            check.report(path, 1, "the line \"caught: \" is missing: the violation, with … for anything.")
        seed = fields.get("seed", "")
        if not seed.isdigit():
            check.report(path, 1, "the line \"seed: \" is missing: the seed that showed the bug last.")
        result[path.parts[2], fields["bug"], fields["file"], fields.get("caught", ""), seed] = path
    return result


check = common.Check("mutants", __doc__)
missing = planted(check)
total = len(missing)
simulator = None
text = common.read(check.root, DOCUMENT) if (check.root / DOCUMENT).is_file() else ""
for number, line in enumerate(text.splitlines(), 1):
    if section := SECTION.match(line):
        simulator = section[1]
    if (count := COUNT.search(line)) and int(count[1]) != total:
        check.report(DOCUMENT, number, f"there are {total} planted bugs, not {count[1]}.")
    if (row := ROW.match(line)) and missing.pop((simulator, *row.groups()), None) is None:
        check.report(DOCUMENT, number, f"no mutant of {simulator} says this.")
for path in missing.values():
    check.report(path, 1, f"{DOCUMENT} has no row with its bug, its file, what catches it and its seed.")
check.finish()
