"""The commands of a document, taken one after the other, so that none is left out by accident."""

import contextlib
import os
import re
import signal
import subprocess
import tempfile

from surroundings import PATIENCE_SECONDS, ROOT, wait_for


def blocks(text, language):
    return re.findall(rf"^```({language})\n(.*?)^```$", text, re.M | re.S)


def console_entries(block):
    """(command, what it prints) for each prompt of a console block."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> "):
            found[-1][0] += "\n" + line[2:]
        else:
            found[-1][1] += line + "\n"
    return found


def loose(text):
    """Any number and any made-up id will do, and any width of a column."""
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text)
    text = re.sub(r"\d+m?s\b", "0s", text)
    return re.sub(r" +", " ", re.sub(r"\d+", "0", text))


def commands(text):
    """(command, what it is shown to print or None) of the sh and console blocks."""
    found = []
    for language, block in blocks(text, "sh|console"):
        if language == "console":
            found += console_entries(block)
        else:
            lines = re.sub(r"\\\n\s*", "", block).splitlines()
            found += [[line, None] for line in lines if line.strip() and not line.startswith("#")]
    return found


class Document:
    """Anyone who reads it says which command comes next by its first words, and what becomes of it. Commands
    run in `directory`; `places` are put elsewhere in them: (as printed, as here)."""

    def __init__(self, test, name, directory, environment, places):
        self.test, self.directory, self.environment, self.places = test, directory, environment, places
        self.text = (ROOT / name).read_text(encoding="utf-8")
        self.left = commands(self.text.split("\n## Runbook")[0])
        self.so_far = self.printed = None

    def elsewhere(self, command):
        for printed, here in self.places:
            command = command.replace(printed, here)
        return command

    def take(self, words):
        self.test.assertTrue(self.left, f"the document no longer has: {words}")
        command, shown = self.left.pop(0)
        self.test.assertTrue(command.startswith(words), f"next is: {command}\nand not: {words}")
        return command, shown

    def leave(self, words, reason):
        """For what cannot be run here: a shell must be able to read it."""
        self.test.assertTrue(reason)
        command, _ = self.take(words)
        read = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False)
        self.test.assertEqual(read.stderr, "", command)

    def run(self, words, code=0, prints="^", exactly=False):
        """The next command ends by itself, and prints what it is shown to: to the digit, if `exactly`."""
        command, shown = self.take(words)
        done = subprocess.run(["bash", "-c", self.elsewhere(command)], cwd=self.directory,
                              env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=PATIENCE_SECONDS, check=False)
        self.test.assertEqual(done.returncode, code, f"{command}\n{done.stdout}")
        self.test.assertRegex(done.stdout, prints, command)
        if shown is not None:
            same = str if exactly else loose
            self.test.assertEqual(same(done.stdout), same(self.elsewhere(shown)), command)

    @contextlib.contextmanager
    def running(self, words, until, code, end=signal.SIGTERM):
        """The next command goes on: until `until` and the body are done; then it is told to end."""
        command, shown = self.take(words)
        with self.started(command, until, code, end) as process:
            yield process
        for line in (shown or "").splitlines():
            self.test.assertIn(loose(self.elsewhere(line)), loose(self.printed))

    @contextlib.contextmanager
    def started(self, command, until, code, end=signal.SIGTERM, **more):
        """The same for a command that stands elsewhere in the document."""
        words = ["setpriv", "--pdeathsig", "TERM", "bash", "-c", "exec " + self.elsewhere(command)]
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output, \
                subprocess.Popen(words, cwd=self.directory, env={**self.environment, **more},
                                 stdin=subprocess.DEVNULL, stdout=output, stderr=output) as process:
            # By position, since the command writes where the file stands.
            self.so_far = lambda: os.pread(output.fileno(), 1 << 20, 0).decode()
            try:
                wait_for(command, lambda: until() or process.poll() is not None)
                ended_early = process.poll() is not None
                yield process
            finally:
                process.send_signal(end)
                process.wait(timeout=PATIENCE_SECONDS)
                output.seek(0)
                self.printed = output.read()
        self.test.assertFalse(ended_early, f"{command}\n{self.printed}")
        self.test.assertEqual(process.returncode, code, f"{command}\n{self.printed}")

    def finish(self):
        self.test.assertEqual(self.left, [], "nobody has run these")
