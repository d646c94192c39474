"""Does work on exactly one of all processes that run this program.

usage: lead.py ADDRESS NAME
"""
import signal
import sys

import muster

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
arbiter, name = muster.Arbiter(sys.argv[1]), sys.argv[2]
while True:
    with muster.lead(arbiter, name) as term:
        while term.valid:
            print(f"working, token {term.token}", flush=True)
            term.wait_stop(1.0)
