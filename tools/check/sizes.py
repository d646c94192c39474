#!/usr/bin/env python3
"""No file of code is longer than 400 lines, unless allow.txt gives the reason."""

import common

LINES_MAX = 400
FOLDERS = ("src", "proto", "tests", "bench", "examples", "tools", "cmake", "dashboard")
SUFFIXES = (".h", ".cc", ".py", ".sh", ".cmake", ".proto", ".js", ".ts", ".go", ".java", ".css", ".html")

check = common.Check("sizes", __doc__)
for path in common.files(check.root):
    if not (path.suffix in SUFFIXES and path.parts[0] in FOLDERS
            or common.shebang(check.root, path)):
        continue
    lines = (common.read(check.root, path) or "").count("\n")
    if lines > LINES_MAX and not check.allows(path):
        check.report(path, LINES_MAX + 1, f"the file has {lines} lines and {LINES_MAX} is the most; "
                     "split it, or give the reason in tools/check/allow.txt.")
check.finish()
