#!/usr/bin/env python3
"""Runs the examples as a reader would: several processes on one directory, one of them killed."""
# Takes up to 80 s: the example of cron waits for the next full minute, and then 5 s for a second run that must
# not come; the one that is killed is replaced when its default lease of 15 s has expired.
import json
import pathlib
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAMS = pathlib.Path(sys.argv[1])
SOURCES = pathlib.Path(sys.argv[2])


class Example:
    """One running example, whose lines can be waited for."""

    def __init__(self, name, *words, lines=None):
        self.process = subprocess.Popen([PROGRAMS / f"example_{name}", *words], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.lines = lines or queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def await_line(self, wanted, seconds=60):
        limit = time.monotonic() + seconds
        while (left := limit - time.monotonic()) > 0:
            try:
                line = self.lines.get(timeout=left)
            except queue.Empty:
                break
            if wanted(line):
                return line
        raise AssertionError("the line that was waited for did not come")

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(timeout=60)
        self.reader.join()
        self.process.stdout.close()
        return code


class ExamplesTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.url = "file://" + self.directory.name + "/store"
        self.running = []

    def start(self, name, *words, **more):
        example = Example(name, self.url, *words, **more)
        self.running.append(example)
        self.addCleanup(example.end, signal.SIGKILL)
        return example

    def test_leader_hands_over_when_it_is_stopped(self):
        first = self.start("leader")
        first.await_line(lambda line: json.loads(line)["event"] == "term:began")
        second = self.start("leader")
        second.await_line(lambda line: json.loads(line)["event"] == "leader:changed")
        self.assertEqual(first.end(), 0)
        began = json.loads(second.await_line(lambda line: json.loads(line)["event"] == "term:began"))
        self.assertEqual(began["epoch"], 2)

    def test_the_count_goes_on_where_the_killed_leader_left_it(self):
        first = self.start("plugin")
        count = int(first.await_line(lambda line: line.isdigit() and int(line) >= 3))
        second = self.start("plugin")
        first.end(signal.SIGKILL)
        self.assertGreater(int(second.await_line(str.isdigit)), count)

    def test_the_job_runs_once_at_its_minute(self):
        workers = [self.start("cron"), self.start("cron")]
        lines = queue.Queue()
        for worker in workers:
            threading.Thread(target=lambda w=worker: lines.put(w.lines.get()), daemon=True).start()
        self.assertRegex(lines.get(timeout=90), r"^report is due at \d+0000, epoch 1$")
        with self.assertRaises(queue.Empty):
            lines.get(timeout=5)

    def test_the_task_moves_to_the_other_process(self):
        first = self.start("singleton")
        first.await_line(lambda line: line.startswith("epoch 1: "))
        second = self.start("singleton")
        self.assertEqual(first.end(), 0)
        self.assertEqual(second.await_line(lambda line: True), "epoch 2: 1")
        self.assertEqual(second.end(), 0)

    def test_each_message_is_run_by_one_of_the_workers(self):
        sent = {f"message {number}" for number in range(6)}
        for message in sorted(sent):
            self.assertEqual(self.start("queue", message).end(how=0), 0)
        lines = queue.Queue()
        workers = [self.start("queue", lines=lines), self.start("queue", lines=lines)]
        ran = {lines.get(timeout=60) for _ in sent}
        self.assertEqual(ran, {f"attempt 1: {message}" for message in sent})
        for worker in workers:
            self.assertEqual(worker.end(), 0)
        self.assertTrue(lines.empty())

    def test_every_add_is_in_the_total(self):
        total = self.start("counters")
        for amount in ("3", "4", "-2"):
            self.assertEqual(self.start("counters", amount).end(how=0), 0)
        total.await_line(lambda line: line == "5 orders")
        self.assertEqual(total.end(), 0)

    def test_a_session_that_is_not_renewed_is_removed(self):
        sessions = self.start("sessions")
        sessions.await_line(lambda line: line.startswith("sessions/"))
        self.assertEqual(sessions.end(), 0)
        self.assertEqual(sessions.lines.get(), "removed: yes")

    def simulate(self, *words):
        return subprocess.run([PROGRAMS / "example_simulate", *words], text=True, timeout=120,
                              stdout=subprocess.PIPE)

    def test_one_seed_finds_the_double_charge_and_replays_it(self):
        found = self.simulate("careless", "1", "1")
        self.assertEqual(found.returncode, 1)
        self.assertRegex(found.stdout, r"^seed 1: invoice \d+ was charged \d+ times\n$")
        self.assertEqual(self.simulate("careless", "1", "1").stdout, found.stdout)

    def test_the_corrected_code_charges_nobody_twice(self):
        passed = self.simulate("careful", "1", "100")
        self.assertEqual(passed.returncode, 0, passed.stdout)
        self.assertRegex(passed.stdout, r"^\d{5,} invoices were charged, each of them once\n$")

    def test_each_example_is_short(self):
        for name in ("leader", "plugin", "cron", "queue", "counters", "sessions", "singleton"):
            text = (SOURCES / name / "main.cc").read_text()
            self.assertLess(len(text.splitlines()), 60, name)


unittest.main(argv=sys.argv[:1])
