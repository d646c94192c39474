#!/usr/bin/env python3
"""Every header of a module compiles alone, with the flags and dependencies of that module.

CMake generates one source per header; ninja and ccache see to it that only changed ones are
compiled again.
"""

import common
import preset

check = common.Check("headers", __doc__)
preset.configure(check.root, "dev")
check.findings += preset.build(check.root, "dev", ["all_verify_interface_header_sets"])
check.finish()
