#!/usr/bin/env python3
"""The library as its users get it: what its headers include, what the shared library exports and loads,
and the programs of docs/library.md.

usage: library_test.py BUILD_DIRECTORY COMPILER [--write]    (--write: symbols.txt is what is exported now)
"""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "docs"))
from surroundings import free_port  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
COMPILER = sys.argv[2]
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INCLUDE = ROOT / "include"
HEADERS = sorted(str(path.relative_to(INCLUDE)) for path in INCLUDE.rglob("*.h"))
SHARED = BUILD / "libmuster.so"
SYMBOLS = HERE / "symbols.txt"
HEADERS_MOST, LINES_MOST = 16, 2500
OBJECTS_MOST = 8  # OpenSSL, nghttp2, protobuf, zlib
# The longest that each program of docs/library.md may be, by its title there.
PROGRAMS = {"Work while leader": 20, "Lock with a token": 14, "Register, list, and pick by key": 16}


def run(*words, **more):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more).stdout


def compiled(source, output, *options):
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", f"-I{INCLUDE}"]
    made = subprocess.run([COMPILER, *flags, "-x", "c++", "-", "-x", "none", "-o", output, *options], input=source,
                          capture_output=True, text=True)
    if made.returncode:
        raise AssertionError(f"does not compile:\n{source}\n{made.stderr}")


def exported():
    lines = run("nm", "--dynamic", "--defined-only", "--demangle", "--without-symbol-versions", SHARED).splitlines()
    return sorted({line.split(None, 2)[2] for line in lines if not line.endswith(" A MUSTER_0")})


def loaded(program):
    return len(run("ldd", program).splitlines())


def sections():
    """Title and first C++ block of each section of docs/library.md."""
    for section in re.split(r"^## ", (ROOT / "docs/library.md").read_text(), flags=re.MULTILINE)[1:]:
        if block := re.search(r"^```cpp\n(.*?)^```", section, re.MULTILINE | re.DOTALL):
            yield section.splitlines()[0], block[1]


@contextlib.contextmanager
def musterd(folder):
    """The address of a server."""
    address = f"127.0.0.1:{free_port()}"
    server = subprocess.Popen([BUILD / "bin/musterd", "--dev", "--id", "s1", "--listen", address, "--data-dir",
                               f"{folder}/s1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield address
    finally:
        server.terminate()
        server.wait()


class Headers(unittest.TestCase):
    def test_are_few(self):
        self.assertLessEqual(len(HEADERS), HEADERS_MOST)
        lines = sum((INCLUDE / header).read_text().count("\n") for header in HEADERS)
        self.assertLessEqual(lines, LINES_MOST)

    def test_stand_alone_and_leave_names_alone(self):
        for header in HEADERS:
            with self.subTest(header=header):
                compiled(f"#include <{header}>\n#include <{header}>\n", "/dev/null", "-fsyntax-only")
                text = (INCLUDE / header).read_text()
                for name in re.findall(r"^\s*#\s*include\s*(.*)$", text, re.MULTILINE):
                    self.assertRegex(name, r"^<(muster/[\w/]+\.h|gtest/gtest\.h|[a-z_]+(\.h)?)>")
                for name in re.findall(r"^\s*#\s*define\s+(\w+)", text, re.MULTILINE):
                    self.assertTrue(name.startswith("MUSTER_"), name)
                self.assertNotIn("using namespace", text)


class Library(unittest.TestCase):
    def test_exports_what_it_promises_and_nothing_else(self):
        for symbol in exported():
            self.assertRegex(symbol, r"^((typeinfo|typeinfo name|vtable) for )?muster(::api_v1::|_)")
        self.assertEqual(exported(), SYMBOLS.read_text().splitlines(),
                         "other symbols than tests/api/symbols.txt lists; a symbol that goes away breaks programs")

    def test_has_a_name_for_the_loader(self):
        self.assertIn("[libmuster.so.0]", run("readelf", "--dynamic", SHARED))

    def test_loads_little(self):
        with tempfile.TemporaryDirectory() as folder:
            hello = pathlib.Path(folder, "hello")
            compiled("#include <iostream>\nint main() { std::cout << 1; }\n", hello)
            more = loaded(BUILD / "bin/api_worker") - loaded(hello)
            print(f"shared objects beyond those of a hello world: {more}")
            self.assertLessEqual(more, OBJECTS_MOST)

    # The messages of the library are its own: a program may have the same ones.
    def test_leaves_the_protobuf_files_of_a_program_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            proto = ROOT / "proto"
            run("protoc", f"--proto_path={proto}", f"--cpp_out={folder}", proto / "etcd/kv.proto")
            program = pathlib.Path(folder, "program")
            source = pathlib.Path(folder, "program.cc")
            source.write_text('#include "etcd/kv.pb.h"\n#include <muster/leader.h>\n'
                              "int main() { mvccpb::KeyValue pair; pair.set_key(muster::version());\n"
                              '  return muster::Arbiter::open("memory:").ok() && pair.DebugString().size() ? 0 : 1; }\n')
            run(COMPILER, "-std=c++20", f"-I{INCLUDE}", f"-I{folder}", source, f"{folder}/etcd/kv.pb.cc", "-o", program,
                f"-L{BUILD}", "-lmuster", "-lprotobuf", f"-Wl,-rpath,{BUILD}")
            run(program)


class Programs(unittest.TestCase):
    def test_are_short(self):
        found = dict(sections())
        for title, most in PROGRAMS.items():
            lines = [line for line in found[title].splitlines() if line.strip()]
            self.assertLessEqual(len(lines), most, title)

    def said_by(self, title, folder, *places):
        """The lines that the program prints, with addresses that are here."""
        source = dict(sections())[title]
        for there, here in places:
            source = re.sub(there, here, source)
        program = pathlib.Path(folder, "program")
        compiled(f'#include "{HERE}/application.h"\n' + source, program, f"-L{BUILD}", "-lmuster",
                 f"-Wl,-rpath,{BUILD}")
        return run(program, timeout=60).splitlines()

    def test_work_while_leader(self):
        with tempfile.TemporaryDirectory() as folder:
            said = self.said_by("Work while leader", folder, (r'"s3://[^"]*"', f'"file://{folder}/store"'))
            self.assertGreaterEqual(len(said), 3)
            self.assertEqual(set(said), {"report with token 1"})

    def test_lock_with_a_token(self):
        with tempfile.TemporaryDirectory() as folder:
            said = self.said_by("Lock with a token", folder, (r'"s3://[^"]*"', f'"file://{folder}/store"'))
            self.assertEqual(said, [f"step {step} with token 1" for step in (1, 2, 3)])

    def test_register_list_and_pick(self):
        with tempfile.TemporaryDirectory() as folder, musterd(folder) as address:
            said = self.said_by("Register, list, and pick by key", folder,
                                ('"10[.]0[.]0[.]1:9000[^"]*"', f'"{address}"'))
            self.assertEqual(said, ["o1", "o1 holds it"])

    def test_in_c(self):
        functions = [name for name in exported() if name.startswith("muster_")]
        self.assertLessEqual(len(functions), 30)
        for name in functions:
            self.assertIn(f" {name}(", re.sub(r"[*]", " ", (INCLUDE / "muster/c.h").read_text()))
        with tempfile.TemporaryDirectory() as folder, musterd(folder) as address:
            program = pathlib.Path(folder, "program")
            run("cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}", HERE / "program.c", "-o",
                program, f"-L{BUILD}", "-lmuster", f"-Wl,-rpath,{BUILD}")
            self.assertEqual(run(program, f"file://{folder}/store", address, timeout=60), "0.1.0\n")


if "--write" in sys.argv:
    SYMBOLS.write_text("\n".join(exported()) + "\n")
    sys.exit()
os.environ["LC_ALL"] = "C"
unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
