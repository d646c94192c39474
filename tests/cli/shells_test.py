#!/usr/bin/env python3
"""Completion and manual pages, in the shells and formatters themselves.

What must be there is read from --help, so that a new command is covered without an edit here.
"""
# Takes about 60 s: bash, zsh and fish are asked two or three questions about each command, and bash and fish
# start anew for each; then man and mandoc format every page.
import os
import pathlib
import re
import sys
import tempfile
import unittest

import shells

PROGRAMS = {"muster": sys.argv[1], "awkward": sys.argv[2]}


class Help:
    """What --help says about a command, and about the commands in it."""

    def __init__(self, program, words):
        self.words = words
        text = shells.run([program, *words[1:], "--help"])
        parts = re.split(r"^([A-Z][\w ]*):\n", text.split("\nExample")[0], flags=re.MULTILINE)
        sections = dict(zip(parts[1::2], parts[2::2]))
        named = re.findall(r"^  (-\S+)", "".join(sections.values()), re.MULTILINE)
        self.options = [name for names in named for name in names.split(",")]
        groups = [lines for name, lines in sections.items() if name not in ("Options", "Positionals")]
        commands = re.findall(r"^  (\w\S*)", "".join(groups), re.MULTILINE)
        self.commands = [Help(program, words + [name]) for name in commands]

    def walk(self):
        yield self
        for command in self.commands:
            yield from command.walk()


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.home = pathlib.Path(directory.name)

    def shell(self, name, program):
        script = self.home / f"{program}.{name}"
        script.write_text(shells.run([PROGRAMS[program], "completion", name]))
        shell = shells.SHELLS[name](str(script), str(self.home))
        self.addCleanup(shell.close)
        return shell


class CompletionTest(Case):
    def check(self, shell, line, *wanted):
        self.assertEqual(set(shell.offers(line.split(" "))), set(wanted), line)

    def test_every_command_and_option_of_help_is_offered_and_nothing_else(self):
        for program, path in PROGRAMS.items():
            every = list(Help(path, [program]).walk())
            self.assertGreater(len(every), 5)
            for name in shells.SHELLS:
                shell = self.shell(name, program)
                for help_ in every:
                    line = " ".join(help_.words)
                    with self.subTest(shell=name, line=line):
                        self.assertIn("--help", help_.options)
                        # Some shells keep a lone dash for short names alone.
                        offered = set(shell.offers([*help_.words, "-"]))
                        offered |= set(shell.offers([*help_.words, "--"]))
                        self.assertEqual(offered, set(help_.options))
                        if help_.commands:
                            names = [each.words[-1] for each in help_.commands]
                            self.check(shell, line + " ", *names)

    def test_values(self):
        (self.home / "some").mkdir()
        (self.home / "some" / "file").write_text("")
        for name in shells.SHELLS:
            with self.subTest(shell=name):
                shell = self.shell(name, "muster")
                self.check(shell, "muster worker --contention-enabled ", "on", "off")
                self.check(shell, "muster worker --contention-enabled=", "on", "off")
                self.check(shell, "muster worker --contention-enabled of", "off")
                self.check(shell, "muster worker --id ")
                self.check(shell, "muster completion ", "bash", "zsh", "fish")
                self.check(shell, "muster help work", "worker", "workers")
                files = shell.offers(["muster", "leader", "--cert", "some/"])
                self.assertIn("file", " ".join(files))
                self.assertIn("some", " ".join(shell.offers(["muster", "man", "--dir", ""])))

    def test_a_value_that_looks_like_a_command_is_none(self):
        for name in shells.SHELLS:
            with self.subTest(shell=name):
                shell = self.shell(name, "muster")
                self.check(shell, "muster worker --id leader --http", "--http")
                shell = self.shell(name, "awkward")
                self.check(shell, "awkward outer-command --before inner inn", "inner")
                self.check(shell, "awkward outer-command --before x inner --mode ", "fast", "slow")

    def test_what_follows_two_dashes_is_another_command_line(self):
        for name in shells.SHELLS:
            with self.subTest(shell=name):
                shell = self.shell(name, "muster")
                self.check(shell, "muster worker --id x -- mkfif", "mkfifo")

    def test_zsh_finds_it_on_its_path(self):
        (self.home / "functions").mkdir()
        script = shells.run([PROGRAMS["muster"], "completion", "zsh"])
        (self.home / "functions" / "_muster").write_text(script)
        start = self.home / "start"
        start.write_text(f"fpath=({self.home}/functions $fpath)\ncompinit -u -D\n")
        shell = shells.Zsh(str(start), str(self.home))
        self.addCleanup(shell.close)
        self.check(shell, "muster lea", "leader")

    def test_scripts_are_clean(self):
        for program in PROGRAMS:
            self.shell("bash", program)
            shells.run(["shellcheck", "-s", "bash", self.home / f"{program}.bash"])
            self.shell("fish", program)
            shells.run(["fish", "--no-execute", self.home / f"{program}.fish"])


class ManualTest(Case):
    def pages(self, program):
        shells.run([PROGRAMS[program], "man", "--dir", self.home])
        return {path.stem: path for path in self.home.glob("*.1")}

    def shown(self, path, locale="C.UTF-8"):
        """As a reader sees it; any warning of the formatter fails the test."""
        environment = dict(os.environ, LC_ALL=locale, MANWIDTH="200", MANROFFOPT="-c")
        text = shells.run(["man", "--warnings", "--no-hyphenation", "-P", "cat", "-l", path],
                          env=environment)
        return re.sub(r".\x08", "", text)

    def test_every_command_has_a_page_with_every_option(self):
        for program, path in PROGRAMS.items():
            every = list(Help(path, [program]).walk())
            pages = self.pages(program)
            self.assertEqual({name for name in pages if name.startswith(program)},
                             {"-".join(help_.words) for help_ in every})
            for help_ in every:
                with self.subTest(page="-".join(help_.words)):
                    text = self.shown(pages["-".join(help_.words)])
                    for option in help_.options:
                        self.assertRegex(text, rf"(?m)^ +(\S+, )*{option}(,| |$)")
                    for command in help_.commands:
                        self.assertRegex(text, rf"(?m)^ +{command.words[-1]}( |$)")

    def test_formatters_have_nothing_to_complain_about(self):
        for program in PROGRAMS:
            for name, path in self.pages(program).items():
                with self.subTest(page=name):
                    shells.run(["mandoc", "-T", "lint", path])
                    self.shown(path, "C")
                    self.assertIn(f'"{name} - ', shells.run(["lexgrog", path]))

    def test_the_text_is_shown_as_it_was_written(self):
        text = self.shown(self.pages("awkward")["awkward-outer-command-inner"])
        text = re.sub(r"(?<=\S) +", " ", text)  # Lines are justified.
        awkward = """It's [odd]: a\\b "c" `d` $HOME $(e) ~f ^g *h {i,j} %k ... 'l' #m"""
        self.assertEqual(text.count(awkward), 4)
        self.assertIn(".begins like a request", text)
        self.assertIn("'begins like one, too", text)
        self.assertIn("  .awkward 'x' \\\n", text)
        self.assertNotIn("hidden", text)

    def test_one_page_is_printed_or_all_are_written(self):
        page = shells.run([PROGRAMS["muster"], "man", "worker"])
        self.assertEqual(self.pages("muster")["muster-worker"].read_text(), page)
        self.assertIn(".TH \"MUSTER\" 1 ", shells.run([PROGRAMS["muster"], "man"]))
        fixed = dict(os.environ, SOURCE_DATE_EPOCH="86400")
        self.assertIn('"1970-01-02"', shells.run([PROGRAMS["muster"], "man"], env=fixed))


unittest.main(argv=sys.argv[:1])
