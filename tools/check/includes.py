#!/usr/bin/env python3
"""Includes between modules, and between the folders of one, point one way only, as layers.txt says, and a
source includes its own header first, which shows that the header needs no other before it. A file that names something of the C++
library, or of nlohmann/json, includes a header that declares it, as standard.txt says, or one of ours
that does: what is precompiled hides from the compiler that an include is missing.

main.cc, and everything outside src, may wire any parts together.
"""

import collections
import pathlib
import re

import common

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
NAME = re.compile(r"(?<!:)\b(?:std|nlohmann)::\w+")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def read_layers():
    text = (pathlib.Path(__file__).parent / "layers.txt").read_text()
    lines = [line.split(":") for line in text.splitlines() if line and not line.startswith("#")]
    layers = {name: targets.split() for name, targets in lines}
    return layers, layers.pop("tests"), layers.pop("proto")


def closure(layers, module):
    """What a module, or a folder of one, may include: itself, and all that the table leads to from there."""
    reached, ahead = {module, "base"}, [module]
    while ahead:
        for target in layers.get(ahead.pop(), ()):  # A folder without a line is reported where it is read.
            if target not in reached:
                reached.add(target)
                ahead.append(target)
    return reached


def folders_in_circles(layers):
    return [place for place, targets in layers.items() if any(place in closure(layers, target) for target in targets)]


def is_test(path):
    return "_test" in path.stem or path.stem.endswith("_fuzz") or "testing" in path.parts


def judge(layers, for_tests, for_proto, path, bracket, target):
    """What is wrong with `path` including `target`; None if nothing is."""
    module = path.parts[1]
    first = target.split("/")[0]
    if target.endswith(".pb.h"):
        folder = str(pathlib.PurePosixPath(*path.parts[1:-1])) + "/"
        if not any(folder.startswith(allowed + "/") for allowed in for_proto):
            return f"{module} must not include generated {target}; only {', '.join(for_proto)} may."
    elif first in layers and "/" in target:
        allowed = closure(layers, module)
        if "_test" in path.stem:
            allowed = allowed.union(*(closure(layers, extra) for extra in for_tests))
        if first not in allowed:
            return f"{module} must not include {first} ({target}); see tools/check/layers.txt."
        here, there = "/".join(path.parts[1:-1]), target.rpartition("/")[0]
        if first == module and not is_test(path) and there not in closure(layers, here) | {here}:
            return f"{here} must not include {there} ({target}); see tools/check/layers.txt."
    elif bracket == '"':
        return f'"{target}" names no module; write <…> for a library, "module/file.h" for ours.'
    return None


def own_header(root, path):
    """What `path` must include first: x.h for x.cc, and for x_test.cc where x.cc does not."""
    if path.suffix != ".cc":
        return None
    header = path.with_suffix(".h")
    if path.stem.endswith("_test") and not (root / path.with_name(path.stem[:-5] + ".cc")).exists():
        header = path.with_name(path.stem[:-5] + ".h")
    return str(pathlib.PurePosixPath(*header.parts[1:])) if (root / header).exists() else None


def read_standard():
    """The headers that declare a name."""
    declared_in = collections.defaultdict(set)
    for line in (pathlib.Path(__file__).parent / "standard.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            header, names = line.split(":")
            for name in names.split():
                declared_in[f"std::{name}"].add(header)
    declared_in["nlohmann::json"] = {"nlohmann/json.hpp", "nlohmann/json_fwd.hpp"}
    return declared_in


def library_headers(path, included, known):
    """What `path` gets of other libraries, by itself and by what it includes of ours."""
    if path not in known:
        known[path] = set()  # Two headers that include each other end here.
        for bracket, target in included.get(path, ()):
            ours = f"src/{target}" if f"src/{target}" in included else target
            known[path] |= {target} if bracket == "<" else library_headers(ours, included, known)
    return known[path]


def judge_names(check, path, text, headers, declared_in):
    seen = set()
    for number, line in enumerate(common.strip(text).splitlines(), 1):
        for name in NAME.findall(line):
            wanted = declared_in.get(name)
            if wanted and name not in seen and not wanted & headers:
                seen.add(name)
                check.report(path, number, f"{name} needs <{'> or <'.join(sorted(wanted))}>; nothing here includes it.")


check = common.Check("includes", __doc__)
layers, for_tests, for_proto = read_layers()
for place in folders_in_circles(layers):
    check.report(pathlib.PurePosixPath("tools/check/layers.txt"), 1, f"{place} leads back to itself.")
included, texts = collections.defaultdict(list), {}
for path in common.sources(check.root):
    if path.parts[0] not in ("src", "tests", "bench", "examples"):
        continue
    text = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), common.read(check.root, path))
    texts[path] = text
    judged = path.parts[0] == "src" and path.name != "main.cc" and len(path.parts) > 2
    if judged and path.parts[1] not in layers:
        check.report(path, 1, f"module {path.parts[1]} is not in tools/check/layers.txt.")
        judged = False
    elif judged and not is_test(path) and "/".join(path.parts[1:-1]) not in layers:
        check.report(path, 1, f"folder {'/'.join(path.parts[1:-1])} is not in tools/check/layers.txt.")
    own = own_header(check.root, path)
    for number, line in enumerate(text.splitlines(), 1):
        if found := INCLUDE.match(line):
            included[str(path)].append((found[1], found[2]))
            if judged and own not in (None, found[2]):
                check.report(path, number, f'a source includes its own header first: "{own}".')
            own = None
            if judged and (wrong := judge(layers, for_tests, for_proto, path, found[1], found[2])):
                check.report(path, number, wrong)
declared_in = read_standard()
for path, text in texts.items():
    # Tests are compiled many at a time, with what the others include.
    if path.suffix == ".h" or not path.stem.endswith("_test"):
        judge_names(check, path, text, library_headers(str(path), included, {}), declared_in)
check.finish()
