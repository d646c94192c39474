#!/usr/bin/env python3
"""Reads what ctest tells of tests, for ./dev test.

results.py tell SUITE                 passes ctest's words on, and says at once how to repeat what failed
results.py counts FILE                "TESTS FAILED SKIPPED" of a JUnit file
results.py failed FILE                the names of the tests that failed, one a line
results.py passed FILE NAME           notes in the file that the test passed after all
results.py repeat SUITE FILE          a line for each test that failed: its name and how to repeat it
results.py slowest FILE…              the ten tests that took longest, in one line
"""
import pathlib
import re
import shlex
import signal
import sys
import xml.etree.ElementTree as xml

# "12/154 Test #31: test_core ......***Failed    1.02 sec"
ENDED_BADLY = re.compile(r"^\s*\d+/\d+ Test\s+#\d+: (\S+) \.*\s*\*\*\*(?!Skipped)")
# GoogleTest's "[  FAILED  ] Suite.Case (3 ms)"; the list at the end has no time.
CASE = re.compile(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", re.MULTILINE)
# Its last line. Without it the output was cut, and not every case that failed may be in it.
LAST = re.compile(r"^ *\d+ FAILED TESTS?$", re.MULTILINE)
BAD = ("fail", "notrun", "disabled")


def command(suite, name, cases=()):
    """What repeats this test alone, and of its cases only those that failed where there are few."""
    if suite not in ("tests", "asan", "tsan"):
        return f"ctest --test-dir build/release -V -R '^{name}$', with the environment of ./dev soak"
    words = f"^{name}$" if suite == "tests" else f"{suite}:^{name}$"
    only = f"GTEST_FILTER={shlex.quote(':'.join(cases))} " if 0 < len(cases) <= 4 else ""
    return f"{only}./dev test {shlex.quote(words)}"


def tests(file):
    return xml.parse(file).getroot().iter("testcase")


def skipped(test):
    # A test that found nothing to run on (exit code 77) has said so; it neither passed nor failed.
    return any("SKIP_RETURN_CODE" in (each.get("message") or "") for each in test)


def failed(file):
    return [each for each in tests(file) if each.get("status") in BAD and not skipped(each)]


def tell(suite):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The caller of the tests decides what Ctrl-C means.
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(errors="replace")
    for line in sys.stdin:
        print(line, end="", flush=True)
        if found := ENDED_BADLY.match(line):
            print(f"    FAILED {found[1]}; to repeat it: {command(suite, found[1])}", flush=True)


def counts(file):
    every = list(tests(file))
    print(len(every), len(failed(file)), sum(map(skipped, every)))


def passed(file, name):
    tree = xml.parse(file)
    for each in tree.getroot().iter("testcase"):
        if each.get("name") == name:
            each.set("status", "run")
    tree.write(file, encoding="unicode")


def repeat(suite, file):
    for each in failed(file):
        text = "\n".join(each.itertext())
        cases = sorted(set(CASE.findall(text))) if LAST.search(text) else ()
        print(f"{each.get('name')}: {command(suite, each.get('name'), cases)}")


def slowest(*files):
    times = [(float(each.get("time") or 0), each.get("name"), pathlib.Path(file).stem.split("-")[-1])
             for file in files for each in tests(file)]
    words = [f"{name}{'' if suite == 'tests' else f' ({suite})'} {seconds:.0f} s"
             for seconds, name, suite in sorted(times, reverse=True)[:10]]
    print("slowest: " + ", ".join(words))


if __name__ == "__main__":
    actions = {each.__name__: each for each in (tell, counts, passed, repeat, slowest)}
    # One that did not run at all needs no second try.
    actions["failed"] = lambda file: print("\n".join(
        each.get("name") for each in failed(file) if each.get("status") == "fail"))
    actions[sys.argv[1]](*sys.argv[2:])
