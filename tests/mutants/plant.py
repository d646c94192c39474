#!/usr/bin/env python3
"""Plants bugs, or other changes, in copies of sources, and writes the copies one after the other into
one file.

plant.py SOURCE_ROOT OUTPUT MUTANT…

A mutant names its file, says in words what is wrong (`bug:`) or different (`change:`), which violation
of a simulator's shows a bug (`caught:`, with … for anything) and with which seed it did last (`seed:`),
and gives the exact text that is replaced.
Many bugs are planted in one program, each behind a switch of the mutant's own name, so that its text is
right as long as the switch is off:

    file: src/core/election/election.cc
    bug: the result of the compare-and-swap is ignored
    caught: … and … lead at the same time
    seed: 1
    <<<<
    the text as it stands, once and only once
    ====
    the text that breaks it if planted("ignore_cas_result")
    >>>>

A change has no switch. Mutants are planted in the given order, each in what those before it left.
"""
import pathlib
import sys


def fail(mutant, why):
    sys.exit(f"{mutant}: {why}")


def read(mutant):
    """The fields of a mutant, and what it replaces by what."""
    head, _, rest = mutant.read_text().partition("<<<<\n")
    fields = dict(line.split(": ", 1) for line in head.strip().splitlines())
    if "file" not in fields or not (fields.get("bug") or fields.get("change")):
        fail(mutant, "needs the lines file: and bug: or change:")
    if not rest:
        fail(mutant, "has nothing to plant")
    if "bug" in fields and f'planted("{mutant.stem}")' not in rest:
        fail(mutant, f'its text does not ask whether planted("{mutant.stem}")')
    hunks = []
    for hunk in rest.split("<<<<\n"):
        old, _, tail = hunk.partition("====\n")
        hunks.append((old, tail.partition(">>>>\n")[0]))
    return fields, hunks


def main():
    root, output, *mutants = sys.argv[1:]
    sources = {}
    for mutant in map(pathlib.Path, mutants):
        fields, hunks = read(mutant)
        file = fields["file"]
        text = sources.get(file) or pathlib.Path(root, file).read_text()
        for old, new in hunks:
            if text.count(old) != 1:
                fail(mutant, f"its text stands {text.count(old)} times in {file}, not once")
            text = text.replace(old, new)
        sources[file] = text
    # What the compiler says of it names the source; its lines are off by those that were planted.
    texts = [f'#line 1 "{file}"\n{text}' for file, text in sources.items()]
    pathlib.Path(output).write_text('#include "tests/mutants/planted.h"\n' + "".join(texts))


main()
