#!/usr/bin/env python3
"""Looks with readelf and objdump whether programs were made as cmake/hardening.cmake says.

usage: hardening_test.py PROGRAM…
       hardening_test.py --sample COMPILER OPTION…    the options do it, for a small program
"""

import pathlib
import re
import subprocess
import sys
import tempfile

SAMPLE = """
#include <cstdio>
#include <cstring>
struct Base { virtual ~Base() = default; virtual int turn(int) = 0; };
struct Twice : Base { int turn(int n) override { return 2 * n; } };
__attribute__((noinline)) int spread(const char* text) {
  char large[100000];
  std::snprintf(large, sizeof large, "%s", text);
  return large[0];
}
int main(int count, char** words) {
  if (spread(words[0]) == 1) return 1;
  char copy[16];
  std::strcpy(copy, words[0]);
  char line[32];
  std::snprintf(line, sizeof line, "%s %d", copy, count);
  std::puts(line);
  Twice twice;
  Base* volatile base = &twice;
  return base->turn(count) > 100;
}
"""


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, errors="replace").stdout


def lacks(program):
    """What a program lacks of what every shipped one has."""
    header = run("readelf", "--wide", "--file-header", program)
    segments = run("readelf", "--wide", "--segments", program)
    dynamic = run("readelf", "--wide", "--dynamic", program)
    symbols = run("readelf", "--wide", "--dyn-syms", program)
    missing = []
    if not re.search(r"Type:\s+DYN", header) or "INTERP" not in segments:
        missing.append("PIE")
    if "GNU_RELRO" not in segments:
        missing.append("RELRO")
    if not re.search(r"BIND_NOW|FLAGS_1.*\bNOW\b", dynamic):
        missing.append("immediate binding (now)")
    stack = re.search(r"GNU_STACK.*", segments)
    if not stack or re.search(r"\bRWE\b", stack[0]):
        missing.append("a stack that is not executable")
    if "__stack_chk_fail" not in symbols:
        missing.append("the stack protector")
    if not re.search(r"__\w+_chk\b", symbols.replace("__stack_chk_fail", "")):
        missing.append("FORTIFY")
    # The linker's note needs every object to have it, the system's start files included, which Debian's
    # have not: so the instructions themselves are looked for.
    marks = {"X86-64": r"\bendbr64\b", "AArch64": r"\b(bti|paciasp)\b"}
    for machine, mark in marks.items():
        if machine in header and len(re.findall(mark, run("objdump", "--disassemble", program))) < 5:
            missing.append("landing marks for indirect branches")
    return missing


def probes_its_stack(program):
    """Whether a frame larger than a guard page is touched page by page. Only the sample has one for certain."""
    if "X86-64" not in run("readelf", "--wide", "--file-header", program):
        return True
    return re.search(r"\borq?\s+\$0x0,(0x0)?\(%rsp\)", run("objdump", "--disassemble", program)) is not None


def main():
    words = sys.argv[1:]
    if words[0] != "--sample":
        wrong = {program: lacks(program) for program in words}
        for program, missing in wrong.items():
            print(f"{program}: " + ("lacks " + ", ".join(missing) if missing else "hardened"))
        return any(wrong.values())
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory, "sample.cc")
        source.write_text(SAMPLE, encoding="utf-8")
        bare, hard = str(source.with_suffix(".bare")), str(source.with_suffix(".hard"))
        # A compiler may have some of it by default; without all of it the check must say so.
        subprocess.run([words[1], "-O2", "-no-pie", "-fno-stack-protector", "-U_FORTIFY_SOURCE", "-fcf-protection=none"
                        if run(words[1], "-dumpmachine").startswith("x86") else "-O2",
                        "-Wl,-z,norelro", "-Wl,-z,lazy", "-Wl,-z,execstack", "-o", bare, source], check=True)
        subprocess.run([words[1], "-O2", "-fPIE", "-pie", *words[2:], "-o", hard, source], check=True)
        print(f"without: lacks {', '.join(lacks(bare))}\nwith: lacks {', '.join(lacks(hard)) or 'nothing'}")
        probes = probes_its_stack(hard)
        if not probes:
            print("large frames are not probed (-fstack-clash-protection)")
        return bool(lacks(hard)) or len(lacks(bare)) < 7 or not probes


sys.exit(main())
