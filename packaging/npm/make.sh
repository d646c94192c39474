#!/usr/bin/env bash
# Makes an npm tarball of the Node package with libmuster, the libraries it needs, and the contract of musterd
# inside, for any Linux whose glibc is not older than that of the machine it was made on.
#
# usage: make.sh BUILD_DIRECTORY DIRECTORY
# The library is built, and sbom.spdx.json lies in BUILD_DIRECTORY. The same library gives the same tarball, byte by
# byte, wherever and whenever it is made.
set -euo pipefail
build=$(readlink -f "$1")
into=$(readlink -f "$2")
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$here/../..
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-npm-XXXXXX")
trap 'rm -rf "$work"' EXIT

# shellcheck source=packaging/bundle.sh
source "$here/../bundle.sh"

read_release
case $(uname -m) in
  x86_64) processor=x64 ;;
  aarch64) processor=arm64 ;;
  *) fail "npm has no name for the processor $(uname -m)" ;;
esac
tree=$work/package
mkdir "$tree"
cp -r "$root"/bindings/node/{index.js,index.d.ts,README.md,lib,examples} "$root/LICENSE" "$build/sbom.spdx.json" "$tree/"
mkdir -p "$tree/proto/muster"
cp -r "$root/proto/muster/v1" "$tree/proto/muster/"
lib=$tree/native
add_libraries "$lib" "$build/libmuster.so.0"
install -m 644 "$build/libmuster.so.0" "$lib/"
strip --strip-unneeded "$lib/libmuster.so.0"
# shellcheck disable=SC2016  # The loader reads $ORIGIN, not the shell.
patchelf --set-rpath '$ORIGIN' "$lib"/*
check_needs "$lib"
add_licences "$tree/licenses"
python3 - "$root/bindings/node/package.json" "$version" "$processor" >"$tree/package.json" <<'END'
import json
import sys

package = json.load(open(sys.argv[1], encoding="utf-8"))
package.update(version=sys.argv[2], os=["linux"], cpu=[sys.argv[3]], libc=["glibc"])
print(json.dumps(package, indent=2))
END
chmod -R u=rwX,go=rX "$tree"
tarball=$into/muster-$version-linux-$processor.tgz
tar --create --directory "$work" --sort=name --format=ustar --mtime="@$epoch" --owner=0 --group=0 --numeric-owner package |
  gzip --no-name -9 >"$tarball"
echo "${tarball##*/}: $(($(stat -c %s "$tarball") / 1024)) KiB, needs glibc $glibc"
