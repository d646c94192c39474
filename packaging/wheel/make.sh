#!/usr/bin/env bash
# Makes a wheel of the Python package with libmuster and the libraries it needs inside, for any Python from 3.11
# on, on any Linux whose glibc is not older than that of the machine it was made on.
#
# usage: make.sh BUILD_DIRECTORY DIRECTORY
# The library is built, and sbom.spdx.json lies in BUILD_DIRECTORY. The same library gives the same wheel, byte by
# byte, wherever and whenever it is made.
set -euo pipefail
build=$(readlink -f "$1")
into=$(readlink -f "$2")
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-wheel-XXXXXX")
trap 'rm -rf "$work"' EXIT

# shellcheck source=packaging/bundle.sh
source "$here/../bundle.sh"

read_release
tree=$work/wheel
mkdir "$tree"
cp -r "$here/../../bindings/python/src/muster" "$tree/"
find "$tree" -name __pycache__ -prune -exec rm -r {} +
lib=$tree/muster/lib
add_libraries "$lib" "$build/libmuster.so.0"
install -m 644 "$build/libmuster.so.0" "$lib/"
strip --strip-unneeded "$lib/libmuster.so.0"
# shellcheck disable=SC2016  # The loader reads $ORIGIN, not the shell.
patchelf --set-rpath '$ORIGIN' "$lib"/*
check_needs "$lib"
info=$tree/muster-$version.dist-info
mkdir "$info"
add_licences "$info/licenses"
cp "$here/../../LICENSE" "$build/sbom.spdx.json" "$info/"
python3 "$here/pack.py" "$tree" "$version" "manylinux_${glibc//./_}_$(uname -m)" "$epoch" \
  "$here/../../bindings/python/README.md" "$into"
