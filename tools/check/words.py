#!/usr/bin/env python3
"""No file holds a word that words.txt rules out."""

import pathlib
import re

import common

check = common.Check("words", __doc__)
rules = []
for line in (pathlib.Path(__file__).parent / "words.txt").read_text().splitlines():
    if line and not line.startswith("#"):
        pattern, reason = line.split(None, 1)
        rules.append((re.compile(pattern), reason))

for path in common.files(check.root):
    text = None if check.allows(path) else common.read(check.root, path)
    for number, line in enumerate((text or "").splitlines(), 1):
        for pattern, reason in rules:
            if found := pattern.search(line):
                check.report(path, number, f'"{found[0]}": {reason}')
check.finish()
