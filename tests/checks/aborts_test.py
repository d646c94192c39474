#!/usr/bin/env python3
"""tools/check/aborts.py finds what ends a program without saying why no input reaches it."""

import unittest

from planted_tree import CheckTest


class AbortsTest(CheckTest):
    def test_a_check_where_bytes_of_others_arrive_says_why_none_reaches_it(self):
        for call in ("MUSTER_CHECK(a)", "std::abort()", "::abort()", "std::terminate()"):
            with self.subTest(call):
                far = "int b;  // Far.\n" + 12 * "\n"
                self.write("src/store/a.cc", f'{far}void f() {{ g("http://"); {call}; }}\n')
                self.assert_finds("aborts", "src/store/a.cc:14: ", "ends the program")
                self.write("src/store/a.cc", f"// The caller has looked.\nvoid f() {{ {call}; }}\n")
                self.assert_passes("aborts")

    def test_the_core_tests_and_other_calls_of_that_name_are_left_alone(self):
        self.write("src/core/a.cc", "void f() { MUSTER_CHECK(a); }\n")
        self.write("src/store/a_test.cc", "void f() { MUSTER_CHECK(a); }\n")
        self.write("src/store/a.cc", "void Command::terminate() { child.terminate(); aborted(); }\n")
        self.assert_passes("aborts")


if __name__ == "__main__":
    unittest.main()
