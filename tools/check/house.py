#!/usr/bin/env python3
"""The size and shape of the house: figures that may fall and must not rise.

house.txt holds for each figure the most it may be and the goal. A change that lowers a figure lowers its line there,
so that what was gained is kept.
"""

import collections
import pathlib
import re

import common

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
TYPE = re.compile(r"^(?:class|struct|union)\s+(?:MUSTER_\w+(?:\([^)]*\))?\s+)?(\w+)(?:\s+final)?\s*(?::(?!:)|\{|$)",
                  re.MULTILINE)
SMALL_LINES = 60


def is_test(path):
    return "_test" in path.stem or path.stem.endswith("_fuzz") or "testing" in path.parts or path.stem == "testing"


def folders_in_cycles(edges):
    """The folders that reach themselves over others, by what their files include."""

    def reached(start):
        seen, ahead = set(), list(edges[start])
        while ahead:
            if (folder := ahead.pop()) not in seen:
                seen.add(folder)
                ahead += edges[folder]
        return seen

    return sorted(folder for folder in list(edges) if folder in reached(folder))


def measure(root):
    production = [path for path in common.sources(root) if path.parts[0] == "src" and not is_test(path)]
    public = [path for path in common.sources(root, ".h") if path.parts[:2] == ("include", "muster")]
    lines, small = 0, 0
    edges = collections.defaultdict(set)
    definitions = collections.defaultdict(set)
    for path in production:
        text = common.read(root, path) or ""
        count = text.count("\n")
        lines += count
        small += path.suffix == ".cc" and count < SMALL_LINES
        for target in INCLUDE.findall(text):
            folder = pathlib.PurePosixPath("src", target).parent
            if folder != path.parent and (root / "src" / target).is_file():
                edges[path.parent].add(folder)
        # What a source keeps in an unnamed namespace is its own affair.
        if path.suffix == ".h":
            for name in TYPE.findall(common.strip(text)):
                definitions[name].add(path)
    twice = {name: sorted(map(str, paths)) for name, paths in definitions.items() if len(paths) > 1}
    cycles = folders_in_cycles(edges)
    return {
        "production-lines": (lines, []),
        "public-headers": (len(public), []),
        "public-header-lines": (sum((common.read(root, path) or "").count("\n") for path in public), []),
        "folders-in-cycles": (len(cycles), [", ".join(map(str, cycles))] if cycles else []),
        "types-named-twice": (len(twice), [f"{name}: {', '.join(paths)}" for name, paths in sorted(twice.items())]),
        "small-sources": (small, []),
    }


check = common.Check("house", __doc__)
table = pathlib.PurePosixPath("tools/check/house.txt")
limits = {}
for number, line in enumerate((common.read(check.root, table) or "").splitlines(), 1):
    if line and not line.startswith("#"):
        name, most, goal = line.split()
        limits[name] = (number, int(most), int(goal))
for name, (figure, details) in measure(check.root).items():
    if name not in limits:
        check.report(table, 1, f"{name} has no line here.")
        continue
    number, most, goal = limits[name]
    print(f"    {name:<20} {figure:>7}   most {most:>6}   goal {goal:>6}{'' if figure > goal else '   reached'}")
    if figure > most:
        for detail in details:
            print(f"      {detail}")
        check.report(table, number, f"{name} is {figure}, which is more than {most}.")
check.finish()
