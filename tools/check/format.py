#!/usr/bin/env python3
"""Every C++ file is as clang-format would write it."""

import re
import subprocess

import common

# Versions differ in what they write, so one is the house's: Debian 12's.
HOUSE_VERSION = 14

check = common.Check("format", __doc__)
banner = subprocess.run(["clang-format", "--version"], capture_output=True, text=True).stdout
version = int(re.search(r"version (\d+)", banner)[1])
paths = [str(path) for path in common.sources(check.root)]
if version != HOUSE_VERSION:
    print(f"format: NOT checked: this is clang-format {version} and would judge differently from "
          f"{HOUSE_VERSION}, the version of Debian 12 that the code is written with.")
elif paths:
    run = subprocess.run(["clang-format", "--dry-run", "-Werror", *paths], cwd=check.root,
                         stderr=subprocess.PIPE, text=True)
    for where in dict.fromkeys(re.findall(r"^(.*?:\d+):\d+: error:", run.stderr, re.MULTILINE)):
        path, line = where.rsplit(":", 1)
        check.report(path, line, f"is not formatted; run clang-format -i {path}.")
    if run.returncode != 0 and not check.findings:
        common.fail(run.stderr.strip())
check.finish()
