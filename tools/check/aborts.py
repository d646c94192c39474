#!/usr/bin/env python3
"""Where bytes of others arrive, every CHECK says why none of them can reach it.

A comment must stand on the line or at most 12 lines above. What it says is for people to judge; without one
nobody has asked the question.
"""

import re

import common

FOLDERS = ("candidate", "cli", "client", "coordinator", "elector", "log", "plugins", "rpc", "server", "store")
ENDS = re.compile(r"(?<![\w:])(MUSTER_CHECK|(?:std)?::(?:abort|terminate))\s*\(")
COMMENT = re.compile(r"(^|\s)//")
NEAR = 12


def product(path):
    return (path.parts[0] == "src" and path.parts[1] in FOLDERS and "testing" not in path.as_posix()
            and not path.stem.endswith(("_test", "_fuzz")) and "_test_" not in path.stem)


check = common.Check("aborts", __doc__)
for path in common.sources(check.root):
    if not product(path) or check.allows(path):
        continue
    text = common.read(check.root, path)
    lines = text.splitlines()
    code = common.strip(text)
    for found in ENDS.finditer(code):
        line = code.count("\n", 0, found.start()) + 1
        if not any(COMMENT.search(each) for each in lines[max(0, line - 1 - NEAR):line]):
            check.report(path, line, f"{found[1]} ends the program; say in a comment why no input of a client, "
                         "certificate, file or store reaches it, or make it an error.")
check.finish()
