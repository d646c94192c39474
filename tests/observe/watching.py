"""What the tests of this folder share: where the programs are, patience, and HTTP."""

import json
import pathlib
import sys
import time
import urllib.error
import urllib.request

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


def fetch(url, headers=None):
    request = urllib.request.Request(url, headers=headers or {})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def fetch_json(url):
    return json.loads(fetch(url))


def status_of(url, method="GET", headers=None):
    request = urllib.request.Request(url, headers=headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
