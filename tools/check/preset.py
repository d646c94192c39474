"""Lets a check compile in one of the tree's own presets, which hold the flags that count."""

import os
import re
import subprocess
import time

import common

COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")


def folder(root, preset):
    return root / "build" if preset == "dev" else root / "build" / preset


def configure(root, preset):
    run = subprocess.run(["cmake", "--preset", preset], cwd=root, capture_output=True, text=True)
    if run.returncode != 0:
        common.fail(f"cmake --preset {preset} failed:\n{run.stdout}{run.stderr}")


def ninja(root, preset, arguments):
    command = ["ninja", "-C", str(folder(root, preset)), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def build(root, preset, targets):
    """Compiles the targets, past the first error. Returns the number of errors found.

    What the compiler says is printed; of ninja's own progress, a line every ten seconds.
    """
    command = ["ninja", "-C", str(folder(root, preset)), "-k", "0", f"-j{os.cpu_count()}", *targets]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    errors, last = 0, time.monotonic()
    for line in run.stdout:
        line = COLOUR.sub("", line).replace(f"{root}/", "")
        if line.startswith("["):
            if time.monotonic() - last < 10:
                continue
            line, last = "    " + line.split("]")[0] + "]\n", time.monotonic()
        if line.startswith(("ninja: Entering", "ninja: no work")):
            continue
        errors += ": error: " in line or ": fatal error: " in line
        print(line, end="", flush=True)
    return max(errors, 1) if run.wait() != 0 else 0
