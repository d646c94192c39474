#!/usr/bin/env bash
# Makes a tarball of the programs with the shared libraries they need beside them, which runs wherever it is
# unpacked, on any Linux whose glibc is not older than that of the machine it was made on.
#
# usage: make.sh BUILD_DIRECTORY DIRECTORY
# The programs are built, and sbom.spdx.json lies in BUILD_DIRECTORY. The same programs give the same tarball,
# byte by byte, wherever and whenever it is made: its files are as old as SOURCE_DATE_EPOCH or the commit.
set -euo pipefail
build=$(readlink -f "$1")
into=$(readlink -f "$2")
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-tarball-XXXXXX")
trap 'rm -rf "$work"' EXIT

# shellcheck source=packaging/bundle.sh
source "$here/../bundle.sh"

# Each file says itself where its libraries are. LD_LIBRARY_PATH would be inherited by the commands that muster
# starts, and DT_RPATH by the libraries that the system's own plugins of glibc ask for: this is DT_RUNPATH.
# shellcheck disable=SC2016  # The loader reads $ORIGIN, not the shell.
set_paths() {
  patchelf --set-rpath '$ORIGIN/../lib' "$tree/bin/muster" "$tree/bin/musterd"
  patchelf --set-rpath '$ORIGIN/../../lib' "$tree/libexec/muster/muster-guardian"
  patchelf --set-rpath '$ORIGIN' "$tree"/lib/*
}

read_release
name=muster-$version-linux-$(uname -m)
tree=$work/$name

for component in muster musterd; do
  cmake --install "$build" --component "$component" --prefix "$tree" --strip >"$work/install.log" ||
    fail "$(cat "$work/install.log")"
done
# The units are for the places of the packages. Settings are an example here, as there is no /etc of ours.
mkdir -p "$tree/share/muster"
mv "$tree/etc/muster/musterd.yaml" "$tree/share/muster/"
rm -r "${tree:?}"/{etc,lib,share/doc}
cp "$here/../../LICENSE" "$build/sbom.spdx.json" "$tree/"
add_libraries "$tree/lib" "$build"/bin/{muster,musterd,muster-guardian}
set_paths
add_licences "$tree/licences"
check_needs "$tree/lib" "$tree"/bin/* "$tree"/libexec/muster/*
sed -e "s/@VERSION@/$version/g" -e "s/@GLIBC@/$glibc/g" "$here/README.txt.in" >"$tree/README.txt"

tar --create --file - --directory "$work" --format=ustar --sort=name --owner=0 --group=0 --numeric-owner \
  --mode=u=rwX,go=rX --mtime="@$epoch" "$name" | gzip -9 --no-name >"$work/$name.tar.gz"
mv "$work/$name.tar.gz" "$into/"
echo "$name.tar.gz: $(du -k "$into/$name.tar.gz" | cut -f1) KiB, $(find "$tree/lib" -type f | wc -l) libraries," \
  "needs glibc $glibc or later"
