#!/usr/bin/env python3
"""Time, chance and processes come through platform/ only, so that a simulator can own them.

Comments and strings do not count. In tests/ only sleeping and detached threads are banned: a sleep
there hides a race. allow.txt lists files with a reason to do it anyway.
"""

import re

import common

SLEEPS = (r"\b(sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep)\b"
          r"|(?<![\w.>])sleep\s*\(")
SEAMS = [  # allowed in src/platform
    (SLEEPS, "sleeps; arm a Timer on the loop instead."),
    (r"\b(steady_clock|system_clock)\s*::\s*now\b|\bhigh_resolution_clock\b"
     r"|\b(clock_gettime|gettimeofday)\b|(?<![\w.>])time\s*\(\s*(nullptr|NULL|0)\s*\)",
     "reads a clock; take a Clock& or be told the time."),
    (r"\brandom_device\b|\b(getrandom|getentropy)\b", "draws from the system; take a Random&."),
]
NEVER = [
    (r"(\.|->)\s*detach\s*\(\s*\)", "detaches a thread; own it and join it."),
    (r"(?<![\w.>])s?rand\s*\(", "is not random enough and not repeatable; take a Random&."),
    (r"(?<![\w.>])(system|popen)\s*\(", "starts a shell; use the process type of platform/."),
]
TESTS = [(SLEEPS, "sleeps; wait for the event itself, or use the simulated clock."), NEVER[0]]


def rules(path):
    if path.parts[0] == "tests":
        return TESTS
    if path.parts[0] != "src":
        return []
    return NEVER if path.parts[1] == "platform" else SEAMS + NEVER


check = common.Check("banned", __doc__)
for path in common.sources(check.root):
    if check.allows(path):
        continue
    code = common.strip(common.read(check.root, path))
    for pattern, sentence in rules(path):
        for found in re.finditer(pattern, code):
            line = code.count("\n", 0, found.start()) + 1
            check.report(path, line, f"{found[0].strip(' (')} {sentence}")
check.finish()
