#!/usr/bin/env python3
"""./dev mutate: its mistakes compile, change what a program does, and nothing else does."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "dev"))
import mutate  # noqa: E402

PROGRAM = """\
#include <algorithm>
#include <cstdio>

static int total_ = 0;
static void add(int a, int b) {
  total_ += 10 * a + b;
}
static bool odd(int n) {
  if (n % 2 == 1) return true;
  return false;
}
static bool both(int a, int b) {
  if (a > 3 && b > 12) return true;
  return false;
}
static int last(int n) {
  return n - 1;
}

int main() {
  int sum = 0;
  for (int i = 0; i < 5; ++i) sum += i;
  std::printf("%d ", sum);
  add(1, 2);
  std::printf("%d %d %d ", total_, odd(3), odd(4));
  std::printf("%d %d ", std::min(3, 4), std::max(5, 6));
  std::printf("%d ", last(9));
  std::printf("%d", both(4, 13) + 2 * both(4, 12) + 4 * both(3, 13));  // if (never) a call(in, a comment);
  return 0;
}
"""

SAYS = "10 12 1 0 3 6 8 1"


class MutateTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir="/var/tmp")  # A cell has a /tmp of its own.
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name) / "root"
        self.tree = pathlib.Path(self.folder.name) / "tree"
        for place in (self.root / "src/core", self.tree / "src/core", self.tree / "build"):
            place.mkdir(parents=True)
        self.path = pathlib.PurePosixPath("src/core/program.cc")
        self.write(PROGRAM)

    def write(self, text):
        (self.root / self.path).write_text(text)

    def sites(self):
        return list(mutate.sites_of(self.path, (self.root / self.path).read_text()))

    def compile(self):
        program = self.tree / "program"
        run = subprocess.run(["g++", "-std=c++20", "-o", program, self.tree / self.path], capture_output=True, text=True)
        return program, run.stderr

    def output(self, program, number):
        run = subprocess.run([program], capture_output=True, text=True, timeout=10,
                             env=dict(os.environ, MUSTER_MUTANT=str(number)))
        return run.stdout

    def test_each_mistake_changes_what_the_program_says(self):
        kinds = set()
        for site in self.sites():
            # One at a time: some of them overlap.
            mutate.plant(self.root, self.tree, {7: site})
            program, errors = self.compile()
            if errors:
                self.assertEqual(site.kind, "arguments swapped", errors)
                continue
            self.assertEqual(self.output(program, 0), SAYS, site)
            self.assertEqual(self.output(program, 6), SAYS, site)
            self.assertNotEqual(self.output(program, 7), SAYS, site)
            kinds.add(site.kind)
        self.assertEqual(kinds, {"condition negated", "half of a condition dropped", "off by one", "one left out",
                                 "max for min", "min for max", "call left out", "arguments swapped",
                                 "assignment left out", "true for false", "false for true"})

    def test_comments_and_declarations_are_left_alone(self):
        self.write('''int main() {
  // if (a) call(b, c);
  const char* text = "if (a < b) call();";
  if (const int n = 3; n != 3) return 1;
  if (int m = 4) return *text != 105;
  return 2;
}
''')
        self.assertEqual(self.sites(), [])

    def test_chosen_mistakes_do_not_overlap_and_depend_on_the_seed_alone(self):
        chosen = mutate.choose(self.root, [self.path], 1000, 1)
        ranges = sorted((site.begin, site.end) for site in chosen)
        for (_, end), (begin, _) in zip(ranges, ranges[1:]):
            self.assertLessEqual(end, begin)
        self.assertEqual(chosen, mutate.choose(self.root, [self.path], 1000, 1))
        self.assertEqual(len(mutate.choose(self.root, [self.path], 3, 2)), 3)

    def test_the_line_of_an_error_names_the_mistake_to_leave_out(self):
        sites = dict(enumerate(mutate.choose(self.root, [self.path], 1000, 1), 1))
        number, site = next(iter(sites.items()))
        error = f"/tree/{self.path}:{site.line}:3: error: no match"
        self.assertIn(number, mutate.misfits(error, sites))
        self.assertLess(len(mutate.misfits(error, sites)), len(sites))
        self.assertEqual(mutate.misfits("ninja: build stopped", sites), set())

    def test_a_source_whose_mistakes_are_gone_is_restored(self):
        mutate.plant(self.root, self.tree, {1: self.sites()[0]})
        mutate.plant(self.root, self.tree, {})
        self.assertEqual((self.tree / self.path).read_text(), PROGRAM)

    def test_a_run_reaches_neither_other_processes_nor_other_files(self):
        if os.geteuid() != 0:
            self.skipTest("only root may make namespaces")
        inside = "touch mine /tmp/mine; touch /outside 2>/dev/null; ls /proc | grep -c '^[0-9]'"
        run = subprocess.run(mutate.in_cell(self.tree, ["bash", "-c", inside]), cwd=self.tree,
                             capture_output=True, text=True)
        self.assertLess(int(run.stdout), 10, run.stderr)
        self.assertFalse(pathlib.Path("/outside").exists())
        self.assertTrue((self.tree / "mine").exists())


if __name__ == "__main__":
    unittest.main()
