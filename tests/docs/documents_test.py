#!/usr/bin/env python3
"""Keeps the documents true: runs the console blocks of README.md as they stand and compares what they
print, compiles the C++ of README.md and docs/client.md, looks up every command and option that any
document shows, and compares what docs/faults.md and `./dev help` say with what is done.

Numbers and made-up ids differ from run to run, so any number and any id will do. Only places are put
elsewhere: /tmp/muster-try below a temporary directory, the default ports to free ones.

usage: documents_test.py BUILD_DIRECTORY COMPILER
"""
# Takes about 19 s: the compiler reads the library's headers once for each document with code, and the console of
# README.md lives through a real election and a real musterd.
import functools
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest

from commands import console_entries, loose
from surroundings import ROOT, free_port

BUILD = pathlib.Path(sys.argv[1]).resolve()
COMPILER = sys.argv[2]
DOCUMENTS = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *sorted((ROOT / "docs").glob("*.md"))]

SNIPPETS = {  # What the code of a document takes for granted.
    "README.md": """
        #include <muster/leader.h>
        extern std::stop_source stop;
        void write_report(muster::Token token);
        """,
    "docs/coordinator.md": """
        #include "coordinator/hub.h"
        std::shared_ptr<muster::CoordinatorPlugin> plugin;
        """,
    **{f"docs/plugins/{name}.md": """
        #include <muster/plugins.h>
        #include <chrono>
        using namespace std::chrono_literals;
        extern muster::Arbiter arbiter;
        extern muster::GlobalCoordinator coordinator;
        muster::Status send(const std::string& message);
        """ for name in ("counters", "queue", "scheduler", "ttl")},
    "docs/client.md": """
        #include "client/node_agent.h"
        #include "client/topology_watch.h"
        using namespace std::chrono_literals;
        muster::client::NodeSpec spec;
        """,
}


def blocks(document, language):
    text = document.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


@functools.lru_cache(maxsize=None)
def help_of(program, command):
    words = [BUILD / "bin" / program, *([command] if command else []), "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def own_words(rest):
    """The words of one command: up to what is the shell's, or after -- another program's."""
    lexer = shlex.shlex(rest, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if word == "--" or not word.strip(";|&<>()"):
            break
        words.append(word)
    return words


class DocumentsTest(unittest.TestCase):
    maxDiff = None

    def test_nobody_who_follows_the_readme_waits_for_ever(self):
        loops = [line for block in blocks(ROOT / "README.md", "console") for line in block.splitlines()
                 if re.search(r"\b(until|while) ", line)]
        self.assertTrue(loops)
        for line in loops:
            self.assertRegex(line, r"^\$ timeout \d+ sh -c ")

    def run_session(self, commands, directory):
        os.makedirs(f"{directory}/build/quick")
        os.symlink(BUILD / "bin", f"{directory}/build/quick/bin")
        port = free_port()
        environment = {"PATH": "/usr/bin:/bin", "HOME": directory,
                       "MUSTER_LISTEN": f"127.0.0.1:{port}", "MUSTER_SERVER": f"127.0.0.1:{port}",
                       "MUSTER_HTTP_LISTEN": "127.0.0.1:0"}
        script = "trap 'kill $(jobs -p) 2>/dev/null' EXIT\nexec 2>&1\n"
        for number, command in enumerate(commands):
            script += f"echo '@@{number}@@'\n{command}\n"
        script = script.replace("/tmp/muster-try", f"{directory}/try")
        shell = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", "bash", "-c", script],
                                 cwd=directory, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            output, _ = shell.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            shell.send_signal(signal.SIGTERM)
            output, _ = shell.communicate(timeout=30)
            self.fail("the session hangs after\n" + output)
        return re.split(r"^@@\d+@@\n", output, flags=re.M)[1:]

    def test_console_blocks_of_the_readme_print_what_they_show(self):
        shown = [entry for block in blocks(ROOT / "README.md", "console") for entry in console_entries(block)]
        self.assertGreater(len(shown), 10, "the README has lost its quick start")
        with tempfile.TemporaryDirectory(prefix="muster-readme-") as directory:
            printed = self.run_session([command for command, _ in shown], directory)
        for (command, wanted), got in zip(shown, printed, strict=True):
            wanted, got = loose(wanted).splitlines(), loose(got).splitlines()
            if command.startswith("muster run"):  # Its lines and its command's have no order.
                wanted, got = sorted(wanted), sorted(got)
            self.assertEqual(wanted, got, command)

    def test_every_command_and_option_that_is_shown_exists(self):
        seen = 0
        for document in DOCUMENTS:
            for block in blocks(document, "(?:sh|console)"):
                for line in block.replace("\\\n", " ").splitlines():
                    seen += self.check_line(document, line)
        self.assertGreater(seen, 40)

    def check_line(self, document, line):
        found = re.search(r"(?:^|[\s$/;&|(])(musterd?|\./dev)(?=\s)(.*)", line.split(" #")[0])
        if not found or line.lstrip().startswith("#"):
            return 0
        program, rest = found.groups()
        where = f"{document.name}: {line}"
        words = own_words(rest)
        if program == "./dev":
            self.assertIn(f"  {words[0]} ", (ROOT / "dev").read_text(encoding="utf-8"), where)
            return 1
        command = "" if program == "musterd" else words[0]
        text = help_of(program, command if not command.startswith("-") else "")
        self.assertIsNotNone(text, where)
        actions = [word for word in words[1:2]
                   if not word.startswith("-") and re.search(rf"^  {word} ", text, re.M)]
        if program == "muster" and actions:
            done = subprocess.run([BUILD / "bin/muster", command, *actions, "--help"],
                                  capture_output=True, text=True, check=False)
            text += done.stdout
        for option in (word.split("=")[0] for word in words if word.startswith("--")):
            self.assertRegex(text, rf"(?m)(^|[\s,]){option}\b", where)
        return 1

    def test_the_faults_are_simulated_for_as_many_seeds_as_are_told(self):
        faults = (ROOT / "docs/faults.md").read_text(encoding="utf-8")
        told = {name: [int(each.replace(",", "")) for each in re.findall(r"[\d,]*\d", seeds)] for name, seeds
                in re.findall(r"^\| `sim_(\w+)` \|.*\| ([^|]*) \| `\./dev soak` \|$", faults, re.M)}
        simulations = ROOT / "tests/sim"
        rules = (simulations / "CMakeLists.txt").read_text(encoding="utf-8")
        run = re.findall(r"add_test\(NAME sim_(\w+)", rules)
        self.assertEqual(sorted(told), sorted(run))
        shared = (simulations / "sim_main.h").read_text(encoding="utf-8")
        usual = re.search(r"seeds = (\d+);", shared)
        least = re.search(r"kSeedsMin = (\d+);", shared)
        for name in run:
            main = (simulations / f"{name}_main.cc").read_text(encoding="utf-8")
            seeds = [int((re.search(r"\.seeds = (\d+)", main) or usual)[1])]
            slower = re.search(rf"set_tests_properties\([^)]*sim_{name}\b[^)]*MUSTER_SIM_SECONDS=(\d+)", rules)
            self.assertEqual(told[name], [*seeds, int(slower[1]), int(least[1])], name)

    def test_dev_help_tells_how_the_tests_end(self):
        script = (ROOT / "tools/dev/test.sh").read_text(encoding="utf-8")
        (line,) = re.findall(r"printf '\\n(%d passed.*)\\n'", script)
        told = re.search('with "(N passed.*?)"', (ROOT / "dev").read_text(encoding="utf-8"))[1]
        self.assertEqual(re.sub(r"\b[A-Z]\b", "%d", told), line)

    def run_bench(self, *words):
        """./dev bench as far as it says what to run."""
        script = ("set -eu; die() { echo \"$*\"; exit 1; }; step() { shift; \"$@\"; };"
                  "source tools/dev/bench.sh; bench_one() { echo \"run $1\"; }; run_bench \"$@\"")
        with tempfile.TemporaryDirectory(prefix="muster-bench-") as tree:
            os.symlink(ROOT / "tools", f"{tree}/tools")
            os.mkdir(f"{tree}/bench")
            for name in ("bench_log.cc", "bench_store.cc", "report.cc"):
                pathlib.Path(tree, "bench", name).touch()
            return subprocess.run(["bash", "-c", script, "bench", *words], cwd=tree, check=False, text=True,
                                  stdout=subprocess.PIPE).stdout.splitlines()

    def test_dev_bench_runs_all_unless_some_are_named(self):
        self.assertEqual(self.run_bench("list"), ["build", "log", "store"])
        self.assertEqual(self.run_bench(), ["run build", "run log", "run store"])
        self.assertEqual(self.run_bench("log"), ["run log"])
        self.assertEqual(self.run_bench("none"), ["no benchmark none; there are: build log store"])

    def test_code_compiles(self):
        for name, prelude in SNIPPETS.items():
            code = "\n".join(blocks(ROOT / name, "cpp"))
            self.assertTrue(code, name)
            # An ellipsis stands for what is the reader's own.
            code = re.sub(r"\)\s*…", ") {}", code).replace("…", "")
            heads = [line for line in code.splitlines() if line.startswith(("#include", "using "))]
            body = [line for line in code.splitlines() if line not in heads]
            lines = [line.strip() for line in prelude.splitlines()]
            source = "\n".join([*lines, *heads, "void shown() {", *body, "}", ""])
            source = re.sub(r"<muster/(?=\w+/)", "<", source)  # Headers of modules.
            done = subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-x", "c++", "-",
                                   f"-I{ROOT}/src", f"-I{ROOT}/include", f"-I{BUILD}/proto"], input=source, text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, f"{name}\n{source}\n{done.stderr}")


unittest.main(argv=sys.argv[:1], verbosity=2)
