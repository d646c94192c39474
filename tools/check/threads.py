#!/usr/bin/env python3
"""The second compiler accepts every file, its proof of which mutex guards what included.

Only objects are made: nothing is linked or run.
"""

import re

import common
import preset

check = common.Check("threads", __doc__)
preset.configure(check.root, "clang")
targets = preset.ninja(check.root, "clang", ["-t", "targets", "all"])
objects = re.findall(r"^(\S+\.o): CXX_COMPILER", targets, re.MULTILINE)
if not objects:
    common.fail("the clang preset holds no object to compile")
check.findings += preset.build(check.root, "clang", objects)
check.finish()
