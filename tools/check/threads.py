#!/usr/bin/env python3
"""The second compiler accepts every file, its proof of which mutex guards what included.

Nothing is made of them. What protoc has written is not ours and is left out.
"""

import re

import common
import preset

check = common.Check("threads", __doc__)
preset.configure(check.root, "syntax")
targets = preset.ninja(check.root, "syntax", ["-t", "targets", "all"])
objects = re.findall(r"^(?!\S+\.pb\.cc\.o:)(\S+\.o): CXX_COMPILER", targets, re.MULTILINE)
if not objects:
    common.fail("the preset syntax holds no source to compile")
check.findings += preset.build(check.root, "syntax", objects)
check.finish()
