#!/usr/bin/env python3
"""Every test that docs/defects.md names exists."""

import re

import common

TEST = re.compile(r"TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)")
NAMED = re.compile(r"`(\w+\.\w+)`")
ROW = re.compile(r"^\| ([STCP]\d\d) \|")

check = common.Check("ledger", __doc__)
known = set()
for path in common.sources(check.root):
    known.update(".".join(found) for found in TEST.findall(common.read(check.root, path)))
ledger = check.root / "docs" / "defects.md"
if ledger.exists():
    for number, line in enumerate(ledger.read_text().splitlines(), 1):
        row = ROW.match(line)
        if not row:
            continue
        named = NAMED.findall(line)
        if not named:
            check.report("docs/defects.md", number, f"{row[1]} names no test.")
        for test in named:
            if test not in known:
                check.report("docs/defects.md", number, f"{row[1]} names {test}, which does not exist.")
check.finish()
