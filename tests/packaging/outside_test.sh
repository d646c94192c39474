#!/usr/bin/env bash
# A project outside the tree finds the installed library, by CMake and by pkg-config.
#
# usage: outside_test.sh BUILD_DIRECTORY
set -euo pipefail
build=$(readlink -f "$1")
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-outside-XXXXXX")
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --component dev --prefix "$work/prefix" >"$work/install.log"
cp -r "$here/outside" "$work/project"
"$work/project/build.sh" "$work/build" "$work/prefix"
