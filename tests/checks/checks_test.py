#!/usr/bin/env python3
"""Shows every check of tools/check (but house: house_test.py) a violation, planted in a small tree of its own.

Each must fail with the file, the line and the right sentence, and pass once the violation is gone:
a check that cannot fail keeps nothing.
"""
# Takes about 20 s: each planted violation is a program of its own that starts, once to fail and once to pass,
# and those of CompiledTest run CMake and the compiler.

import re
import shutil
import subprocess
import unittest

from planted_tree import CHECKS, ROOT, CheckTest


class FormatTest(CheckTest):
    def setUp(self):
        super().setUp()
        version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True)
        self.house = "version 14." in version.stdout
        shutil.copy(ROOT / ".clang-format", self.tree)

    def test_finds_a_badly_formatted_line(self):
        self.write("src/base/a.h", "#pragma once\nint  answer( );\n")
        if self.house:
            self.assert_finds("format", "src/base/a.h:2: is not formatted")
        else:  # Another version would judge by other rules; the check must say that it did not.
            self.assertIn("NOT checked", self.run_check("format").stdout)

    def test_accepts_a_formatted_file(self):
        self.write("src/base/a.h", "#pragma once\nint answer();\n")
        self.assert_passes("format")


class IncludesTest(CheckTest):
    def test_accepts_the_direction_of_the_table(self):
        self.write("src/core/a.cc", '#include "core/a.h"\n#include <vector>\n#include "base/b.h"\n')
        self.write("src/server/a.cc", '#include "core/a.h"\n#include "store/s.h"\n')
        self.write("src/cli/a.cc", '#include "client/a.h"\n#include "sim/s.h"\n')
        self.assert_passes("includes")

    def test_finds_an_include_against_the_direction(self):
        self.write("src/base/a.h", '#pragma once\n#include "core/lease.h"\n')
        self.write("src/core/a.cc", '#include <platform/clock.h>\n')
        self.write("src/client/a.cc", '#include "store/store.h"\n')
        self.write("src/cli/a.cc", '\n\n#include "server/server.h"\n')
        self.assert_finds(
            "includes",
            "src/base/a.h:2: base must not include core (core/lease.h)",
            "src/core/a.cc:1: core must not include platform",
            "src/client/a.cc:1: client must not include store",
            "src/cli/a.cc:3: cli must not include server",
        )

    def test_server_never_includes_client(self):
        self.write("src/server/rpc/a.cc", '#include "client/client.h"\n')
        self.assert_finds("includes", "src/server/rpc/a.cc:1: server must not include client")

    def test_a_source_includes_its_own_header_first(self):
        for name in ("a.h", "b.h", "c.h"):
            self.write(f"src/core/{name}", "#pragma once\n")
        self.write("src/core/a.cc", '#include "core/a.h"\n\n#include <string>\n')
        self.write("src/core/a_test.cc", "#include <gtest/gtest.h>\n")
        self.assert_passes("includes")
        self.write("src/core/b.cc", '#include <string>\n#include "core/b.h"\n')
        self.write("src/core/c_test.cc", '#include <gtest/gtest.h>\n#include "core/c.h"\n')
        self.assert_finds("includes", 'src/core/b.cc:1: a source includes its own header first: "core/b.h"',
                          'src/core/c_test.cc:1: a source includes its own header first: "core/c.h"')

    def test_generated_headers_stay_at_the_wire(self):
        for path in ("src/server/rpc/a.cc", "src/client/a.cc", "src/store/etcd/a.cc"):
            self.write(path, '#include "muster/v1/coordinator.pb.h"\n')
        self.assert_passes("includes")
        self.write("src/core/membership/a.cc", '#include "muster/v1/coordinator.grpc.pb.h"\n')
        self.write("src/store/s3/a.cc", '#include <muster/v1/coordinator.pb.h>\n')
        self.assert_finds("includes", "src/core/membership/a.cc:1: core must not include generated",
                          "src/store/s3/a.cc:1: store must not include generated")

    def test_tests_beside_the_code_may_simulate_and_no_more(self):
        self.write("src/coordinator/a_test.cc", '#include "sim/clock.h"\n')
        self.assert_passes("includes")
        self.write("src/coordinator/b_test.cc", '#include "server/server.h"\n')
        self.write("src/coordinator/c.cc", '#include "sim/clock.h"\n')
        self.assert_finds("includes", "b_test.cc:1: coordinator must not include server",
                          "c.cc:1: coordinator must not include sim")

    def test_main_and_what_is_outside_src_wire_anything(self):
        for path in ("src/server/main.cc", "tests/sim/a.cc", "bench/a.cc", "examples/a.cc"):
            self.write(path, '#include "client/client.h"\n#include "cli/cli.h"\n')
        self.assert_passes("includes")

    def test_finds_an_unknown_module_and_a_relative_include(self):
        self.write("src/misc/a.h", "#pragma once\n")
        self.write("src/core/a.cc", '#include "../platform/clock.h"\n')
        self.assert_finds("includes", "src/misc/a.h:1: module misc is not in",
                          'src/core/a.cc:1: "../platform/clock.h" names no module')

    def test_commented_includes_do_not_count(self):
        self.write("src/core/a.cc", '// #include "sim/a.h"\n/*\n#include "sim/a.h"\n*/\n')
        self.assert_passes("includes")

    def test_a_name_of_the_library_needs_its_header(self):
        self.write("src/core/a.h", '#pragma once\n#include "base/b.h"\nstd::string a(); // std::map\n')
        self.write("src/base/b.h", "#pragma once\n#include <string>\nstd::string b();\n")
        self.write("src/core/c_test.cc", "std::deque<int> tests_are_compiled_many_at_a_time;\n")
        self.write("tests/sim/world.h", "#pragma once\n#include <map>\n")
        self.write("tests/sim/d.cc", '#include "tests/sim/world.h"\nstd::map<int, int> d;\nconst char* e = "std::set";\n')
        self.assert_passes("includes")
        self.write("src/base/b.h", "#pragma once\nstd::string b();\n")
        self.write("tests/sim/world.h", "#pragma once\n")
        self.write("src/core/main.cc", "nlohmann::json read();\n")
        self.assert_finds("includes", "src/base/b.h:2: std::string needs <string>; nothing here includes it.",
                          "src/core/a.h:3: std::string needs <string>", "tests/sim/d.cc:2: std::map needs <map>",
                          "src/core/main.cc:1: nlohmann::json needs <nlohmann/json.hpp> or <nlohmann/json_fwd.hpp>")


class BannedTest(CheckTest):
    CALLS = {
        "std::chrono::steady_clock::now()": "reads a clock",
        "std::chrono::system_clock :: now()": "reads a clock",
        "std::chrono::high_resolution_clock::time_point{}": "reads a clock",
        "clock_gettime(CLOCK_BOOTTIME, &t)": "reads a clock",
        "gettimeofday(&t, nullptr)": "reads a clock",
        "time(nullptr)": "reads a clock",
        "std::this_thread::sleep_for(1s)": "sleeps",
        "std::this_thread::sleep_until(t)": "sleeps",
        "usleep(1)": "sleeps",
        "nanosleep(&t, nullptr)": "sleeps",
        "sleep(1)": "sleeps",
        "std::random_device{}()": "draws from the system",
        "getrandom(&x, 8, 0)": "draws from the system",
        "std::rand()": "is not random enough",
        "thread.detach()": "detaches a thread",
        'std::system("ls")': "starts a shell",
        'popen("ls", "r")': "starts a shell",
    }

    def test_finds_each_banned_call(self):
        for call, sentence in self.CALLS.items():
            with self.subTest(call):
                self.write("src/core/a.cc", f"void f() {{\n  {call};\n}}\n")
                self.assert_finds("banned", "src/core/a.cc:2: ", sentence)

    def test_platform_may_touch_the_system_but_detaches_nothing(self):
        self.write("src/platform/clock.cc", "auto f() { return clock_gettime(0, nullptr); }\n")
        self.assert_passes("banned")
        self.write("src/platform/thread.cc", "void f() { thread->detach(); }\n")
        self.assert_finds("banned", "src/platform/thread.cc:1: ->detach() detaches a thread")

    def test_comments_strings_and_other_names_do_not_count(self):
        self.write(
            "src/core/a.cc",
            r'''
            // steady_clock::now() is not called here.
            /* usleep(1)
               sleep(2) */
            const char* a = "system(\"ls\") time(nullptr)";
            const char* b = R"x(popen( " )x";
            const int c = 1'000'000; const char d = '"'; const char* e = "rand()";
            void f() { clock.time(0); loop.sleep(1); operand(2); lifetime(nullptr); }
            ''',
        )
        self.assert_passes("banned")

    def test_code_after_literals_still_counts(self):
        self.write("src/core/a.cc", "const int a = 1'000;\nconst char b = '\"';\nint c = rand();\n")
        self.assert_finds("banned", "src/core/a.cc:3: rand is not random enough")

    def test_tests_may_read_clocks_but_sleep_only_with_a_reason(self):
        self.write("tests/sim/a.cc", "auto now = std::chrono::steady_clock::now();\n")
        self.assert_passes("banned")
        self.write("tests/sim/b.cc", "\nvoid f() { std::this_thread::sleep_for(1s); }\n")
        self.assert_finds("banned", "tests/sim/b.cc:2: sleep_for sleeps")
        self.write("tools/check/allow.txt", "banned tests/sim/b.cc It tests sleeping itself.\n")
        self.assert_passes("banned")


class AllowancesTest(CheckTest):
    def test_an_allowance_needs_a_reason_and_a_file(self):
        self.write("src/core/a.cc", "")
        self.write("tools/check/allow.txt", "# comment\nsizes src/core/a.cc\nsizes src/gone.cc why\n")
        self.assert_finds("sizes", "tools/check/allow.txt:2: an allowance needs a reason",
                          "tools/check/allow.txt:3: src/gone.cc does not exist")
        self.assert_passes("banned")  # The lines of another check are not this one's concern.


class SizesTest(CheckTest):
    def test_finds_a_file_past_400_lines(self):
        self.write("src/core/a.cc", "\n" * 400)
        self.write("docs/long.md", "\n" * 900)
        self.assert_passes("sizes")
        self.write("src/core/a.cc", "//\n" * 401)
        self.write("dev", "#!/usr/bin/env bash\n" + ":\n" * 400)
        self.assert_finds("sizes", "src/core/a.cc:401: the file has 401 lines",
                          "dev:401: the file has 401 lines")

    def test_a_listed_reason_allows_it(self):
        self.write("src/core/a.cc", "//\n" * 401)
        self.write("tools/check/allow.txt", "sizes src/core/a.cc One table.\n")
        self.assert_passes("sizes")


class MutantsTest(CheckTest):
    def plant(self, caught, seed="seed: 7\n"):
        self.write("tests/mutants/log/a.mutant",
                   f"file: src/a.cc\nbug: it forgets\n{caught}{seed}<<<<\na\n====\nb\n>>>>\n")

    def document(self, count, caught):
        self.write("docs/mutants.md",
                   f"Each of these {count} bugs\n## The log: `sim_log`\n"
                   f"| it forgets | `src/a.cc` | {caught} | 7 |\n")

    def test_finds_a_bug_that_is_not_documented_as_it_is(self):
        self.plant("caught: … was lost\n")
        self.document(1, "… was lost")
        self.assert_passes("mutants")
        self.document(2, "… was found")
        self.assert_finds("mutants", "docs/mutants.md:1: there are 1 planted bugs, not 2",
                          "docs/mutants.md:3: no mutant of log says this",
                          "tests/mutants/log/a.mutant:1: docs/mutants.md has no row")

    def test_finds_a_bug_without_what_catches_it(self):
        self.plant("")
        self.document(1, "… was lost")
        self.assert_finds("mutants", 'tests/mutants/log/a.mutant:1: the line "caught: " is missing')

    def test_finds_a_bug_without_its_seed_or_with_another(self):
        self.document(1, "… was lost")
        self.plant("caught: … was lost\n", "")
        self.assert_finds("mutants", 'tests/mutants/log/a.mutant:1: the line "seed: " is missing')
        self.plant("caught: … was lost\n", "seed: 8\n")
        self.assert_finds("mutants", "docs/mutants.md:3: no mutant of log says this")


class ShellTest(CheckTest):
    def test_finds_what_shellcheck_finds(self):
        self.write("run", '#!/usr/bin/env bash\necho "$1"\n')
        self.write("note", "rm $1\n")
        self.assert_passes("shell")
        self.write("run", "#!/usr/bin/env bash\nrm $1\n")
        self.write("tools/part.sh", "# shellcheck shell=bash\n\nrm $1\n")
        self.assert_finds("shell", "run:2:4: note: Double quote", "tools/part.sh:3:4: note: Double")


class WordsTest(CheckTest):
    # Written in two parts, or this file would hold them.
    WORDS = ["/wo" "rk/main", "../sha" "red/x", "GTEST_" "SKIP()", "DISABLED" "_Test", "TO" "DO: x",
             "FIX" "ME", "Some" "body", "those who lo" "ok", "stopped in or" "der", "an order" "ly stop",
             "stands asi" "de", "the le" "ad", "what is l" "ed", "vou" "ch for", "has run o" "ut", "a list of rev" "oked",
             "unh" "eard", "told to st" "op", "a roll ca" "ll", "of la" "te"]

    def test_finds_each_word(self):
        for word in self.WORDS:
            with self.subTest(word):
                self.write("docs/a.md", f"\nsee {word}\n")
                self.assert_finds("words", "docs/a.md:2: ")

    def test_every_rule_has_a_word_here(self):
        lines = (CHECKS / "words.txt").read_text().splitlines()
        rules = [line.split()[0] for line in lines if line and not line.startswith("#")]
        for rule in rules:
            with self.subTest(rule):
                self.assertTrue(any(re.search(rule, word) for word in self.WORDS))

    def test_accepts_words_that_only_look_alike(self):
        self.write("docs/a.md", "a network/work/x path, mastodon, TO" "DOS\n")
        (self.tree / "docs/logo.bin").write_bytes(b"\xff\xfe TO" b"DO")
        self.assert_passes("words")


class LedgerTest(CheckTest):
    IDS = [f"{letter}{number:02}" for letter, last in (("S", 21), ("T", 27), ("C", 18), ("P", 26), ("R", 67))
           for number in range(1, last + 1)]

    def write_ledger(self, tests="`ATest.Exists`", ids=None):
        """Rows for `ids`, else for all; the first of them has `tests`."""
        rows = [f"| {each} | what must not come back | `ATest.Exists` |\n" for each in ids or self.IDS]
        rows[0] = rows[0].replace("`ATest.Exists`", tests)
        self.write("src/core/a_test.cc", "TEST(ATest, Exists) {}\n")
        self.write("docs/defects.md", "".join(rows))

    def test_finds_a_test_that_does_not_exist_and_a_row_without_one(self):
        self.write_ledger()
        self.assert_passes("ledger")
        self.write_ledger("`ATest.IsGone`")
        self.assert_finds("ledger", "docs/defects.md:1: S01 names ATest.IsGone")
        self.write_ledger("none")
        self.assert_finds("ledger", "docs/defects.md:1: S01 names no test")

    def test_finds_a_promise_without_a_test_that_exists(self):
        self.write_ledger()
        head = "| promise | tests |\n|---|---|\n"
        self.write("docs/promises.md", head + "| it holds | `ATest.Exists` |\n")
        self.assert_passes("ledger")
        self.write("docs/promises.md", head + "| it holds | `ATest.IsGone` |\n| so does this | none |\n")
        self.assert_finds("ledger", 'docs/promises.md:3: "it holds" names ATest.IsGone, which does not exist',
                          'docs/promises.md:4: "so does this" names no test')

    def test_finds_every_id_that_is_missing_and_one_too_many(self):
        for left_out in ("S01", "S21", "T27", "C18", "P10", "P26", "R01", "R46"):
            with self.subTest(left_out):
                self.write_ledger(ids=[each for each in self.IDS if each != left_out])
                self.assert_finds("ledger", f"docs/defects.md:158: {left_out} is missing")
        for extra in ("P26", "R46"):
            self.write_ledger(ids=self.IDS + [extra])
            self.assert_finds("ledger", f"docs/defects.md:160: {extra} is there twice")
        (self.tree / "docs/defects.md").unlink()
        self.assert_finds("ledger", "C01 is missing")

    RESULTS = """<testsuites><testsuite name="ATest">
        <testcase name="Exists{}" status="run" result="{}" classname="{}ATest">{}</testcase>
        </testsuite></testsuites>"""

    def test_finds_a_test_that_did_not_run_was_skipped_or_failed(self):
        self.write_ledger()
        (self.tree / "cases").mkdir()
        results = ["--results", str(self.tree / "cases")]
        self.assert_finds("ledger", "S01 names ATest.Exists, which did not run", options=results)
        self.write("cases/a.xml", self.RESULTS.format("", "skipped", "", ""))
        self.assert_finds("ledger", "S01 names ATest.Exists, which did not run", options=results)
        self.write("cases/a.xml", self.RESULTS.format("", "completed", "", ""))
        self.assert_passes("ledger", options=results)
        (self.tree / "cases/a.xml").unlink()
        self.write("cases/b.xml", self.RESULTS.format("/0", "completed", "Stores/", "<failure/>"))
        self.assert_finds("ledger", "S01 names ATest.Exists, which did not run", options=results)
        self.write("cases/b.xml", self.RESULTS.format("/0", "completed", "Stores/", ""))
        self.assert_passes("ledger", options=results)


class CompiledTest(CheckTest):
    """The checks that compile get a tree with the real presets, flags and module rules."""

    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / "CMakePresets.json", self.tree)
        shutil.copytree(ROOT / "cmake", self.tree / "cmake")
        self.write("CMakeLists.txt", """\
            cmake_minimum_required(VERSION 3.25)
            project(planted LANGUAGES CXX)
            set(CMAKE_CXX_STANDARD 20)
            set(MUSTER_TESTS OFF)
            find_package(Threads REQUIRED)
            include(cmake/muster.cmake)
            muster_module(base)
            """)
        (self.tree / "src/base").mkdir(parents=True)
        shutil.copy(ROOT / "src/base/mutex.h", self.tree / "src/base")
        self.write("src/base/planted.cc", "namespace muster {}\n")

    def test_headers_finds_one_that_needs_another(self):
        self.write("src/base/lone.h", '#pragma once\n#include "base/mutex.h"\nmuster::Mutex& name();\n')
        self.assert_passes("headers")
        self.write("src/base/lone.h", "#pragma once\n\nmuster::Mutex& name();\n")
        self.assert_finds("headers", "src/base/lone.h:3:", "error: ")
        self.write("src/base/lone_test.cc", '#include "base/lone.h"\n')  # Tests are compiled together.
        self.assert_finds("headers", "src/base/lone.h:3:", "error: ")

    def test_threads_compiles_each_source_alone(self):
        self.write("src/base/first.cc", '#include "base/mutex.h"\nmuster::Mutex first;\n')
        self.write("src/base/second.cc", "muster::Mutex second;\n")
        self.assert_finds("threads", "src/base/second.cc:1:", "error: ")

    def test_threads_finds_an_unguarded_access(self):
        counter = """\
            #include "base/mutex.h"

            namespace muster {{
            class Counter {{
             public:
              void add() {{
                {lock}
                ++value_;
              }}

             private:
              Mutex mutex_;
              int value_ MUSTER_GUARDED_BY(mutex_) = 0;
            }};
            void use() {{
              Counter counter;
              counter.add();
            }}
            }}  // namespace muster
            """
        self.write("src/base/planted.cc", counter.format(lock="MutexLock lock(mutex_);"))
        self.assert_passes("threads")
        self.write("src/base/planted.cc", counter.format(lock=""))
        self.assert_finds("threads", "src/base/planted.cc:8:", "requires holding mutex 'mutex_'")


if __name__ == "__main__":
    unittest.main()
