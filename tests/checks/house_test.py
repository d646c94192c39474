#!/usr/bin/env python3
"""Shows the check `house` each thing that must not grow, and `includes` folders that point back, planted in a
small tree of its own.
"""

import unittest

from planted_tree import CheckTest


class HouseTest(CheckTest):
    def limits(self, **changed):
        figures = {"production-lines": 9, "public-headers": 1, "public-header-lines": 3, "folders-in-cycles": 0,
                   "types-named-twice": 0, "small-sources": 2}
        figures.update({name.replace("_", "-"): most for name, most in changed.items()})
        self.write("tools/check/house.txt", "".join(f"{name} {most} {most}\n" for name, most in figures.items()))

    def setUp(self):
        super().setUp()
        self.limits()
        self.write("include/muster/a.h", "#pragma once\n")
        self.write("src/base/a.h", "#pragma once\nstruct Rope {\n};\n")
        self.write("src/core/b.cc", '#include "base/a.h"\n')
        self.assert_passes("house")

    def test_finds_folders_that_include_each_other(self):
        self.write("src/core/c.h", "#pragma once\n")
        self.write("src/base/d.cc", '#include "core/c.h"\n')
        self.assert_finds("house", "folders-in-cycles is 2", "src/base, src/core")
        self.write("src/base/d.cc", '#include "base/a.h"\n')
        self.assert_passes("house")

    def test_finds_a_name_for_two_things(self):
        self.write("src/core/c.h", "#pragma once\nclass Rope final : public Line {\n};\n")
        self.assert_finds("house", "types-named-twice is 1", "Rope: src/base/a.h, src/core/c.h")
        self.write("src/core/c.h", "#pragma once\nclass Rope;\n")
        self.assert_passes("house")

    def test_finds_what_grows(self):
        self.limits(production_lines=3, public_headers=0, public_header_lines=0, small_sources=0)
        self.assert_finds("house", "production-lines is 4", "public-headers is 1", "public-header-lines is 1",
                          "small-sources is 1")

    def test_counts_no_tests(self):
        self.limits(production_lines=4, small_sources=1)
        self.write("src/core/c_test.cc", "int a;\n")
        self.write("src/core/c_fuzz.cc", "int a;\n")
        self.assert_passes("house")


class FoldersTest(CheckTest):
    def test_folders_of_a_module_point_one_way(self):
        self.write("src/server/api/a.cc", '#include "server/cluster/b.h"\n#include "server/api/c.h"\n')
        self.write("src/server/web/a_test.cc", '#include "server/api/testing.h"\n')
        self.write("src/server/a.cc", '#include "server/security/b.h"\n')
        self.assert_passes("includes")
        self.write("src/server/web/a.cc", '#include "server/api/c.h"\n')
        self.write("src/store/s3/a.cc", '#include "store/file/b.h"\n')
        self.write("src/core/misc/a.h", "#pragma once\n")
        self.assert_finds(
            "includes",
            "src/server/web/a.cc:1: server/web must not include server/api (server/api/c.h)",
            "src/store/s3/a.cc:1: store/s3 must not include store/file",
            "src/core/misc/a.h:1: folder core/misc is not in tools/check/layers.txt",
        )


if __name__ == "__main__":
    unittest.main()
