#!/usr/bin/env python3
"""Makes a copy of one source file with a bug, or another change, planted in it.

plant.py MUTANT SOURCE_ROOT OUTPUT

A mutant names its file, says in words what is wrong (`bug:`) or different (`change:`), which violation
of a simulator's shows a bug (`caught:`, with … for anything), and gives the exact text that is replaced:

    file: src/core/election/election.cc
    bug: the result of the compare-and-swap is ignored
    caught: … and … lead at the same time
    <<<<
    the text as it stands, once and only once
    ====
    the text that breaks it
    >>>>
"""
import pathlib
import sys


def fail(mutant, why):
    sys.exit(f"{mutant}: {why}")


def main():
    mutant, root, output = sys.argv[1:4]
    text = pathlib.Path(mutant).read_text()
    head, _, rest = text.partition("<<<<\n")
    fields = dict(line.split(": ", 1) for line in head.strip().splitlines())
    if "file" not in fields or not (fields.get("bug") or fields.get("change")):
        fail(mutant, "needs the lines file: and bug: or change:")
    source = pathlib.Path(root, fields["file"]).read_text()
    hunks = rest.split("<<<<\n") if rest else fail(mutant, "has nothing to plant")
    for hunk in hunks:
        old, _, tail = hunk.partition("====\n")
        new = tail.partition(">>>>\n")[0]
        if source.count(old) != 1:
            fail(mutant, f"its text stands {source.count(old)} times in {fields['file']}, not once")
        source = source.replace(old, new)
    pathlib.Path(output).write_text(source)


main()
