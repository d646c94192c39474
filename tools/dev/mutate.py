#!/usr/bin/env python3
"""Makes small mistakes in production code, one at a time, and looks whether a test fails.

All mistakes of a run are compiled into one build, each behind a switch that the environment variable
MUSTER_MUTANT sets. A mistake that does not compile is left out. A mistake that no test notices is a survivor.
"""

import argparse
import collections
import os
import pathlib
import random
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "check"))
import common  # noqa: E402 - beside the checks, which share it.

# Percent of the mistakes that tests must catch, inside core/ and elsewhere.
BARS = {"core": 95, "others": 85}
# The tests of a module, the cheapest first; a module that is not here has its unit tests only.
TESTS = {
    "api": ["test_api", "library"],
    "base": ["test_base", "test_core"],
    "candidate": ["test_candidate", "sim_candidate", "test_run_confined", "test_muster_run", "test_run_failover"],
    "cli": ["test_cli", "test_muster", "test_muster_topology", "bad_input", "json", "commands"],
    "client": ["test_client", "test_client_calls", "test_client_musterd", "sim_cluster"],
    "coordinator": ["test_coordinator", "sim_election", "test_fleet_gateway", "test_fleet_departure"],
    "core": ["test_core", "sim_election", "sim_log", "sim_candidate", "sim_cluster", "test_sim_servers"],
    "elector": ["test_elector", "test_coordinator", "test_candidate", "sim_election", "sim_candidate"],
    "log": ["test_log", "sim_log", "test_log_on_stores", "sim_cluster"],
    "platform": ["test_platform", "test_rpc", "test_server", "test_store", "test_candidate", "test_muster_run"],
    "plugins": ["test_plugins", "test_counters_process", "test_queue_process"],
    "rpc": ["test_rpc", "test_client_calls", "floods", "interop_python"],
    "server": ["test_server", "sim_cluster", "test_musterd", "test_musterd_tls", "observe", "operating"],
    "sim": ["sim_election", "sim_cluster"],
    "store": ["test_store", "test_store_conformance", "test_store_s3", "test_store_muster", "test_store_etcd"],
}
SWITCH = """#ifndef MUSTER_MUTANT_SWITCH
#define MUSTER_MUTANT_SWITCH
#include <cstdlib>
[[maybe_unused]] static bool muster_mutant(int number) {
  static const int on = [] {
    const char* set = std::getenv("MUSTER_MUTANT");
    return set == nullptr ? 0 : std::atoi(set);
  }();
  return number == on;
}
#endif
#line 1
"""

Site = collections.namedtuple("Site", "path begin end line kind new")


def blank(text):
    """The code with comments and literals as spaces, every offset kept."""
    return common.TOKEN.sub(lambda m: m[0] if m["skip"] is None else re.sub(r"[^\n]", " ", m[0]), text)


def closing(code, opening):
    """The offset of the bracket that closes the one at `opening`; None without one."""
    pairs, depth = {"(": ")", "{": "}", "[": "]"}, []
    for at in range(opening, len(code)):
        if code[at] in pairs:
            depth.append(pairs[code[at]])
        elif code[at] in ")}]":
            if not depth or depth.pop() != code[at]:
                return None
            if not depth:
                return at
    return None


def arguments(code, opening, end):
    """The ranges of the arguments between two brackets."""
    ranges, depth, begin = [], 0, opening + 1
    for at in range(opening + 1, end):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if code[at] == "," and depth == 0:
            ranges.append((begin, at))
            begin = at + 1
    return ranges + [(begin, end)] if end > opening + 1 else []


def conditions(code):
    for found in re.finditer(r"\b(?:if|while) \(", code):
        opening = found.end() - 1
        end = closing(code, opening)
        inside = code[opening + 1:end] if end else ""
        # Neither a declaration nor a condition with an initializer is an expression.
        if end and ";" not in inside and not re.search(r"(?<![=!<>])=(?!=)", inside):
            yield opening + 1, end


def sites_of(path, text):
    """Every small mistake that can be made in one source."""
    code = blank(text)

    def site(begin, end, kind, new):
        return Site(path, begin, end, text.count("\n", 0, begin) + 1, kind, new)

    def choice(changed, original):
        return f"(muster_mutant(@) ? ({changed}) : ({original}))"

    for begin, end in conditions(code):
        whole = text[begin:end]
        yield site(begin, end, "condition negated", f"static_cast<bool>({whole}) != muster_mutant(@)")
        parts = re.split(r" (&&|\|\|) ", code[begin:end])
        if len(parts) == 3 and all(part.count("(") == part.count(")") for part in parts):
            left, right = text[begin:begin + len(parts[0])], text[end - len(parts[2]):end]
            yield site(begin, end, "half of a condition dropped", choice(f"static_cast<bool>({left})", whole))
            yield site(begin, end, "half of a condition dropped", choice(f"static_cast<bool>({right})", whole))
    for found in re.finditer(r"([\w.>\[\]-]+(?:\(\))?) (<=|>=|<|>) ([\w.]+(?:\(\))?)(?=[;)\s&|?])", code):
        other = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}[found[2]]
        yield site(found.start(), found.end(), "off by one",
                   choice(f"{found[1]} {other} {found[3]}", found[0]))
    for found in re.finditer(r"([\w.]+) ([+-]) 1(?=[;), ])", code):
        yield site(found.start(), found.end(), "one left out", choice(found[1], found[0]))
    for found in re.finditer(r"\bstd::(min|max)(<[\w:]+>)?\(", code):
        end = closing(code, found.end() - 1)
        if end:
            rest = text[found.end(1):end + 1]
            other = "max" if found[1] == "min" else "min"
            yield site(found.start(), end + 1, f"{other} for {found[1]}",
                       choice(f"std::{other}{rest}", f"std::{found[1]}{rest}"))
    for found in re.finditer(r"^ +((?:[a-z_][\w]*(?:\.|->|::))*[a-z_]\w*)\(", code, re.MULTILINE):
        opening = found.end() - 1
        end = closing(code, opening)
        if end is None or code[end + 1:end + 2] != ";" or found[1].startswith(("log_", "MUSTER_", "return", "if")):
            continue
        begin = found.start(1)
        whole = text[begin:end + 1]
        yield site(begin, end + 2, "call left out", f"if (!muster_mutant(@)) {whole};")
        given = arguments(code, opening, end)
        for (a, b), (c, d) in zip(given, given[1:]):
            swapped = text[begin:a] + text[c:d] + text[b:c] + text[a:b] + text[d:end + 1]
            if text[a:b].strip() != text[c:d].strip():
                yield site(begin, end + 2, "arguments swapped",
                           f"if (muster_mutant(@)) {swapped}; else {whole};")
    for found in re.finditer(r"^ +([a-z]\w*_|[\w.]+->\w+|\w+\.\w+) (?:=|\+=|-=) [^;{}]*;", code, re.MULTILINE):
        begin = found.start(1)
        yield site(begin, found.end(), "assignment left out", f"if (!muster_mutant(@)) {text[begin:found.end()]}")
    for found in re.finditer(r"\breturn (true|false);", code):
        other = "false" if found[1] == "true" else "true"
        yield site(found.start(), found.end(), f"{other} for {found[1]}",
                   f"return muster_mutant(@) ? {other} : {found[1]};")


def production(root):
    for path in common.sources(root, ".cc"):
        name = path.stem
        if path.parts[0] == "src" and not re.search(r"_(test|fuzz|test_\w+)$", name) and "testing" not in path.parts:
            yield path


def module(site):
    return site.path.parts[1]


def choose(root, files, count, seed):
    """Mistakes that do not overlap: all those of the files, or as many as asked for, from every module."""
    by_file = {path: list(sites_of(path, common.read(root, path))) for path in production(root)
               if not files or path in files}
    unknown = [str(path) for path in files if path not in by_file]
    if unknown:
        common.fail(f"{', '.join(unknown)}: no production source")
    pool = [site for sites in by_file.values() for site in sites]
    random.Random(seed).shuffle(pool)
    chosen, taken = [], collections.defaultdict(list)
    for site in pool:
        if len(chosen) == count:
            break
        if all(site.end <= begin or end <= site.begin for begin, end in taken[site.path]):
            taken[site.path].append((site.begin, site.end))
            chosen.append(site)
    return chosen


def plant(root, tree, sites):
    """Writes the sources with their switches, each named by the number of its mistake."""
    by_file = collections.defaultdict(list)
    for number, site in sites.items():
        by_file[site.path].append((site, number))
    record = tree / "build" / "planted.txt"
    before = record.read_text().split() if record.exists() else []
    for path in {*by_file, *map(pathlib.PurePosixPath, before)}:
        if not (root / path).exists():
            continue
        text = common.read(root, path)
        for site, number in sorted(by_file[path], reverse=True):
            text = text[:site.begin] + site.new.replace("@", str(number)) + text[site.end:]
        # Also where nothing is planted any more: its object may be of an earlier run.
        (tree / path).write_text((SWITCH if by_file[path] else "") + text)
    record.write_text("".join(f"{path}\n" for path in by_file))


def misfits(output, sites):
    """The mistakes that the compiler refuses, by the lines of its errors."""
    found = set()
    for name, line in re.findall(r"(src/[\w/]+\.cc):(\d+):\d+: (?:fatal )?error", output):
        here = {number: site for number, site in sites.items() if str(site.path) == name}
        on_line = {n for n, s in here.items() if s.line <= int(line) <= s.line + s.new.count("\n")}
        found |= on_line or set(here)
    return found


def build(tree, targets):
    run = subprocess.run(["cmake", "--build", "build", "-j", str(os.cpu_count()), "--", "-k", "0", *targets],
                         cwd=tree, capture_output=True, text=True)
    return run.returncode == 0, run.stdout + run.stderr


# A mistake in what kills processes or removes files must not reach the machine: the tests have their own
# processes and /tmp, and of the file system they may change their tree only.
CELL = """
mount --make-rprivate / && mount --bind "$0" "$0" && mount -t tmpfs tmpfs /tmp && mount -t proc proc /proc &&
  mount -o remount,bind,ro / && cd "$0" && exec "$@"
"""


def in_cell(tree, command):
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", CELL, str(tree), *command]


def run_tests(tree, names, number, limit):
    """The names of the tests that failed; the first one ends the run."""
    report = tree / "build" / "mutate.xml"
    report.unlink(missing_ok=True)
    environment = dict(os.environ, MUSTER_MUTANT=str(number))
    command = ["ctest", "--test-dir", "build", "-R", f"^({'|'.join(names)})$", "-j", str(os.cpu_count()),
               "--stop-on-failure", "--timeout", str(limit), "--output-junit", str(report)]
    run = subprocess.run(in_cell(tree, command), cwd=tree, env=environment, capture_output=True, text=True,
                         stdin=subprocess.DEVNULL)
    if not report.exists():
        common.fail(f"the tests did not run: {run.stderr or run.stdout}")
    cases = xml.etree.ElementTree.parse(report).getroot().iter("testcase")
    return [case.get("name") for case in cases if case.get("status") == "fail"]


def tests_of(name, tree):
    known = subprocess.run(["ctest", "--test-dir", "build", "-N"], cwd=tree, capture_output=True, text=True).stdout
    known = set(re.findall(r"Test\s+#\d+: (\S+)", known))
    return [test for test in TESTS.get(name, [f"test_{name}"]) if test in known]


def main():
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__)
    parser.add_argument("files", nargs="*", type=pathlib.PurePosixPath, metavar="FILE",
                        help="sources to make all mistakes in (default: a sample of all sources)")
    parser.add_argument("--sample", type=int, metavar="N", help="make N mistakes (default: 200, of files: all)")
    parser.add_argument("--seed", type=int, default=1, help="choose other mistakes (default: 1)")
    parser.add_argument("--list", action="store_true", help="print the mistakes and make none")
    parser.add_argument("--tree", type=pathlib.Path, help="a configured copy of the sources to plant them in")
    options = parser.parse_args()
    count = options.sample or (0 if options.files else 200)
    chosen = choose(ROOT, options.files, count or sys.maxsize, options.seed)
    sites = dict(enumerate(chosen, 1))
    if options.list:
        for number, site in sites.items():
            print(f"{number:4} {site.path}:{site.line}: {site.kind}")
        return 0
    tree = options.tree.resolve()
    names = {name: tests_of(name, tree) for name in sorted({module(site) for site in chosen})}
    for name, tests in names.items():
        if not tests:
            common.fail(f"src/{name} has no tests in the table of {pathlib.Path(__file__).name}")
    while True:
        print(f"    {len(sites)} mistakes, compiled in one build", flush=True)
        plant(ROOT, tree, sites)
        good, output = build(tree, [])
        if good:
            break
        bad = misfits(output, sites)
        if not bad:
            print(output[-4000:])
            common.fail("the build fails without a mistake to blame")
        for number in bad:
            del sites[number]
    limits = {}
    for name, tests in names.items():
        began = time.monotonic()
        if failed := run_tests(tree, tests, 0, 600):
            common.fail(f"{failed[0]} fails without any mistake: nothing can be said of src/{name}")
        limits[name] = int(3 * (time.monotonic() - began)) + 30
    survivors, caught, total = [], collections.Counter(), collections.Counter()
    for done, (number, site) in enumerate(sorted(sites.items()), 1):
        group = module(site)
        failed = run_tests(tree, names[group], number, limits[group])
        total[group] += 1
        caught[group] += bool(failed)
        verdict = f"caught by {failed[0]}" if failed else "SURVIVED"
        print(f"    {done}/{len(sites)} {site.path}:{site.line}: {site.kind}: {verdict}", flush=True)
        if not failed:
            survivors.append(site)
    print(f"\n{'module':14} {'mistakes':>8} {'caught':>8}")
    for group in sorted(total):
        print(f"{group:14} {total[group]:8} {100 * caught[group] / total[group]:6.0f} %")
    met = True
    for label, bar in BARS.items():
        groups = [group for group in total if (group == "core") == (label == "core")]
        if planted := sum(total[group] for group in groups):
            share = 100 * sum(caught[group] for group in groups) / planted
            met = met and share >= bar
            print(f"{label}: {share:.0f} % of {planted} caught (bar {bar} %)")
    if survivors:
        print("\nsurvivors, each of which changes nothing or lacks a test:")
        for site in survivors:
            print(f"{site.path}:{site.line}: {site.kind}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
