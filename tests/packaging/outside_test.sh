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
cmake -S "$work/project" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build"
"$work/build/outside"

PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name muster.pc)")
export PKG_CONFIG_PATH
read -ra flags <<<"$(pkg-config --cflags --libs muster)"
g++ "$work/project/main.cc" -o "$work/by-pkg-config" "${flags[@]}"
"$work/by-pkg-config"
