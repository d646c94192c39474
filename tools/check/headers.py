#!/usr/bin/env python3
"""Every header of a module that has no source of its own compiles alone, with the flags and
dependencies of that module. Of those that have one, the check `includes` sees to it that the source
includes its header first, and the check `threads` compiles the source.
"""

import common
import preset

check = common.Check("headers", __doc__)
preset.configure(check.root, "syntax")
check.findings += preset.build(check.root, "syntax", ["lone_headers"])
check.finish()
