#!/usr/bin/env python3
"""./dev test on a tree of six small tests: what it tells at once, what it tells at the end, and how it
exits."""
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = """\
add_test(good true)
add_test(bad sh -c "echo '[  FAILED  ] StoreTest.Forgets (3 ms)'; echo ' 1 FAILED TEST'; exit 1")
add_test(slow sleep 1.2)
add_test(absent sh -c "exit 77")
set_tests_properties(absent PROPERTIES SKIP_RETURN_CODE 77)
add_test(off true)
set_tests_properties(off PROPERTIES DISABLED TRUE)
add_test(crowded sh -c "test -e marker || { touch marker; exit 1; }")
"""
SCRIPT = """\
set -euo pipefail
source tools/dev/common.sh
source tools/dev/test.sh
build_preset() { :; }
suites=(tests)
suite_tests() { run_ctest tests dev "been declared" "$@"; }
suite_asan() { run_ctest asan dev "been declared" ${1:+-R "$1"}; }
run_tests "$@"
"""


class DevTestTest(unittest.TestCase):
    def run_tests(self, *words):
        with tempfile.TemporaryDirectory(prefix="muster-dev-test-") as tree:
            (pathlib.Path(tree) / "tools").symlink_to(ROOT / "tools")
            (pathlib.Path(tree) / "build").mkdir()
            (pathlib.Path(tree) / "build/CTestTestfile.cmake").write_text(TESTS, encoding="utf-8")
            return subprocess.run(["bash", "-c", SCRIPT, "dev", *words], cwd=tree, check=False, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_a_failure_is_told_at_once_and_at_the_end_with_what_repeats_it(self):
        run = self.run_tests()
        self.assertEqual(run.returncode, 1, run.stdout)
        lines = run.stdout.splitlines()
        at_once = lines.index("    FAILED bad; to repeat it: ./dev test '^bad$'")
        self.assertLess(at_once, next(i for i, line in enumerate(lines) if "tests passed" in line))
        self.assertIn("  bad: GTEST_FILTER=StoreTest.Forgets ./dev test '^bad$'", lines[at_once + 1:])
        self.assertIn("failed: tests; what failed, and how to repeat it:", lines)

    def test_the_end_counts_and_names_the_slowest(self):
        lines = self.run_tests().stdout.splitlines()
        # The one that is switched off has not passed.
        self.assertEqual(lines[-2], "3 passed, 2 failed, 1 skipped")
        self.assertRegex(lines[-1], "^slowest: slow 1 s, ")
        self.assertEqual(len(lines[-1].split(", ")), 6)

    def test_what_passes_alone_has_passed_and_is_named(self):
        run = self.run_tests("^crowded$")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("passed only when alone: crowded", run.stdout.splitlines())
        self.assertRegex(run.stdout, re.compile("^1 passed, 0 failed, 0 skipped$", re.MULTILINE))

    def test_a_test_with_a_sanitizer_is_repeated_with_it(self):
        run = self.run_tests("asan:^bad$")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("  bad: GTEST_FILTER=StoreTest.Forgets ./dev test 'asan:^bad$'", run.stdout.splitlines())
        self.assertRegex(run.stdout, re.compile("^0 passed, 1 failed, 0 skipped$", re.MULTILINE))

    def test_a_name_that_no_test_has_is_a_failure(self):
        run = self.run_tests("nonsense")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("no suite and no test is named nonsense", run.stdout)
        run = self.run_tests("asan:nonsense")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("nothing to run", run.stdout)


if __name__ == "__main__":
    unittest.main()
