#!/usr/bin/env python3
"""Every shell script passes shellcheck."""

import re
import subprocess

import common

check = common.Check("shell", __doc__)
scripts = [
    str(path)
    for path in common.files(check.root)
    if path.suffix == ".sh" or re.search(r"\b(ba|da)?sh\b", common.shebang(check.root, path))
]
if scripts:
    run = subprocess.run(["shellcheck", "-x", "-f", "gcc", *scripts], cwd=check.root)
    check.findings += run.returncode != 0
check.finish()
