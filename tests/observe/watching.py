"""What the tests of this folder share: where the programs are, and patience."""

import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.argv.pop(1)).resolve()
LIMIT_SECONDS = 60


def eventually(what, holds):
    """The first true answer of `holds`, which may fail meanwhile."""
    end = time.monotonic() + LIMIT_SECONDS
    last = None
    while time.monotonic() < end:
        try:
            last = holds()
            if last:
                return last
        except (OSError, ValueError, KeyError, TypeError) as error:
            last = error
        time.sleep(0.1)
    raise AssertionError(f"not within {LIMIT_SECONDS} s: {what}; last: {last!r}")
