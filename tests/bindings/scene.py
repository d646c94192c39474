"""What the tests of the Python package share: the package itself, over LIBMUSTER, and processes that use it."""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest

TREE = pathlib.Path(__file__).parents[2]
PACKAGE = TREE / "bindings/python"
LIBRARY, MUSTERD = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
del sys.argv[1:3]
os.environ["MUSTER_LIBRARY"] = LIBRARY
os.environ["PYTHONPATH"] = str(PACKAGE / "src")
sys.dont_write_bytecode = True
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
sys.path.insert(0, str(PACKAGE / "src"))

PATIENCE = 30


def eventually(condition):
    limit = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > limit:
            raise AssertionError("it did not happen")
        time.sleep(0.01)
    return found


class Scene(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="muster-python-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.url = f"file://{folder.name}/store"

    def start(self, *command, **options):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)

        def end():
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()

        self.addCleanup(end)
        return process

    def python(self, program, *arguments):
        return self.start(sys.executable, "-c", "import muster, os, sys, time\n" + program, *arguments)


class ServerScene(Scene):
    def setUp(self):
        super().setUp()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.servers = f"127.0.0.1:{port}"
        self.start(MUSTERD, "--dev", "--listen", self.servers, "--http-listen", "127.0.0.1:0",
                   "--data-dir", str(self.folder / "data"), stderr=subprocess.DEVNULL)
