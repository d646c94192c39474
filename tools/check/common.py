"""What the checks share: the command line, the files of a tree, the allowances, the report.

A check is a program `tools/check/NAME.py --root DIR` that prints `file:line: sentence` for each
finding and exits 1 if there was one. It reads the tree under DIR only, so that a test can plant a
violation in a small tree of its own.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys


def fail(message):
    print(f"check: {message}", file=sys.stderr)
    sys.exit(2)


def files(root):
    """Paths relative to root of what belongs to the tree: all that git does not ignore.

    Files not yet added count too. A tree without git (an unpacked archive) is walked instead.
    """
    if (root / ".git").exists():
        # Root working in another user's clone is fine here: nothing of the tree is executed by git.
        command = ["git", "-c", f"safe.directory={root}", "-C", str(root)]
        command += ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            fail(f"git cannot list the files: {run.stderr.strip()}")
        names = [name for name in run.stdout.split("\0") if name]
    else:
        names = []
        for folder, folders, here in os.walk(root):
            folders[:] = [f for f in folders if f not in ("build", "node_modules")]
            names += [os.path.relpath(os.path.join(folder, name), root) for name in here]
    return [path for path in map(pathlib.PurePosixPath, sorted(names)) if (root / path).is_file()]


def sources(root, *suffixes):
    return [path for path in files(root) if path.suffix in (suffixes or (".h", ".cc"))]


def read(root, path):
    """The text of a file; None if it is not text."""
    try:
        return (root / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def shebang(root, path):
    """The first line of a script, empty if the file is none."""
    with open(root / path, "rb") as file:
        line = file.readline(200).decode("utf-8", "replace")
    return line if line.startswith("#!") else ""


TOKEN = re.compile(
    r"""
    (?P<skip> //(?:\\\n|[^\n])* | /\*.*?\*/                          # comments
      | \bR"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)"                 # raw strings
      | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+' )                  # strings, characters
    | \b[0-9](?:'?[\w.])*                                            # 1'000 is no character
    """,
    re.VERBOSE | re.DOTALL,
)


def strip(text):
    """C++ without comments and literals, line numbers kept."""

    def blank(match):
        if match["skip"] is None:
            return match[0]
        return " " + "\n" * match[0].count("\n")

    return TOKEN.sub(blank, text)


class Check:
    """One run of one check: knows the root, collects findings, honours tools/check/allow.txt."""

    def __init__(self, name, purpose, add_options=lambda parser: None):
        parser = argparse.ArgumentParser(description=purpose)
        parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("."))
        add_options(parser)
        self.name = name
        self.options = parser.parse_args()
        self.root = self.options.root.resolve()
        self.findings = 0
        self.allowed = self._allowances()

    def _allowances(self):
        """Lines `check path reason`: a path without a reason, or without its file, is a finding."""
        path = pathlib.PurePosixPath("tools/check/allow.txt")
        allowed = set()
        if not (self.root / path).is_file():
            return allowed
        for number, line in enumerate(read(self.root, path).splitlines(), 1):
            fields = line.split(None, 2)
            if not fields or line.startswith("#") or fields[0] != self.name:
                continue
            if len(fields) < 3:
                self.report(path, number, "an allowance needs a reason: check path reason.")
            elif not (self.root / fields[1]).is_file():
                self.report(path, number, f"{fields[1]} does not exist; remove its allowance.")
            else:
                allowed.add(fields[1])
        return allowed

    def allows(self, path):
        return str(path) in self.allowed

    def report(self, path, line, sentence):
        self.findings += 1
        print(f"{path}:{line}: {sentence}")

    def finish(self):
        sys.exit(1 if self.findings else 0)
