#!/usr/bin/env bash
# A project outside the tree finds the installed library, by CMake and by pkg-config, as docs/client.md
# shows it.
# Takes about 40 s: everything is installed, and CMake and g++ link programs with the whole static library.
#
# usage: outside_test.sh BUILD_DIRECTORY
set -euo pipefail
build=$(readlink -f "$1")
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-outside-XXXXXX")
trap 'rm -rf "$work"' EXIT

# shown LANGUAGE: the lines of the document's blocks in it.
shown() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/!p}" "$here/../../docs/client.md"; }
mapfile -t commands < <(shown sh)
[[ ${#commands[@]} == 2 && ${commands[0]} == "cmake --install build "* && ${commands[1]} == g++* ]] ||
  { echo "docs/client.md has other commands than this test runs"; exit 1; }

mkdir "$work/tree"
ln -s "$build" "$work/tree/build"
(cd "$work/tree" && eval "${commands[0]//DIR/"$work/prefix"}") >"$work/install.log"
cp -r "$here/outside" "$work/project"
shown cmake >"$work/project/shown.cmake"
"$work/project/build.sh" "$work/build" "$work/prefix"

PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name muster.pc)")
export PKG_CONFIG_PATH
(cd "$work/project" && eval "${commands[1]}")
"$work/project/a.out"
