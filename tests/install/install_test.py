#!/usr/bin/env python3
"""Installs the libraries below a temporary directory and builds a small program against them: by the
CMake package, and by pkg-config. It must run, and neither build may know of this source tree.

usage: install_test.py BUILD_DIRECTORY COMPILER [FLAG...]
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BUILD, COMPILER, FLAGS = sys.argv[1], sys.argv[2], sys.argv[3:]
OUTSIDE = pathlib.Path(__file__).with_name("outside")


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=200, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}")
    return done.stdout


def check_answer(program):
    said = run(program)
    assert "127.0.0.1:1" in said and "check" in said, said


def main():
    with tempfile.TemporaryDirectory(prefix="muster-install-") as directory:
        prefix = pathlib.Path(directory, "usr")
        run("cmake", "--install", BUILD, "--component", "devel", "--prefix", prefix)
        headers = list((prefix / "include").rglob("*.h"))
        assert len(headers) > 100, headers
        assert not [each for each in headers if "test" in each.name], "headers of tests"
        source = pathlib.Path(directory, "outside")
        shutil.copytree(OUTSIDE, source)

        built = pathlib.Path(directory, "by-cmake")
        run("cmake", "-S", source, "-B", built, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_CXX_COMPILER={COMPILER}", f"-DCMAKE_CXX_FLAGS={' '.join(FLAGS)}")
        run("cmake", "--build", built)
        check_answer(built / "outside")

        [description] = prefix.rglob("muster.pc")
        environment = {**os.environ, "PKG_CONFIG_PATH": str(description.parent)}
        options = run("pkg-config", "--cflags", "--libs", "muster", env=environment).split()
        program = pathlib.Path(directory, "by-pkg-config")
        # The object is there already: what is left to prove is how it is linked.
        [made] = built.rglob("main.cc.o")
        run(COMPILER, *FLAGS, made, *options, "-o", program)
        run(COMPILER, *FLAGS, "-fsyntax-only", source / "main.cc", *options)
        check_answer(program)


main()
