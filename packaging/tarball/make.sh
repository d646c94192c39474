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

fail() {
  echo "tarball: $*" >&2
  exit 1
}
# is_glibc NAME: these belong to the system's loader and must be of one piece with it, so that none of them
# is ever in the tarball.
is_glibc() {
  case $1 in
    ld-linux*.so.* | ld64.so.* | libc.so.* | libm.so.* | libmvec.so.* | libpthread.so.* | libdl.so.* | \
      librt.so.* | libresolv.so.* | libnsl.so.1 | libutil.so.* | libanl.so.* | libnss_*.so.* | \
      libthread_db.so.* | libBrokenLocale.so.*) ;;
    *) return 1 ;;
  esac
}

# add_libraries PROGRAM…: copies what the programs load into lib/, each by the name that it is asked for by.
add_libraries() {
  local program name path
  mkdir "$tree/lib"
  for program in "$@"; do
    while read -r name path; do
      if is_glibc "$name"; then continue; fi
      [[ $path == /* ]] || fail "$program needs $name, which this machine does not have"
      install -m 644 "$path" "$tree/lib/$name"
    done < <(ldd "$program" | awk '$2 == "=>" { print $1, $3 }')
  done
}

# Each file says itself where its libraries are. LD_LIBRARY_PATH would be inherited by the commands that muster
# starts, and DT_RPATH by the libraries that the system's own plugins of glibc ask for: this is DT_RUNPATH.
# shellcheck disable=SC2016  # The loader reads $ORIGIN, not the shell.
set_paths() {
  patchelf --set-rpath '$ORIGIN/../lib' "$tree/bin/muster" "$tree/bin/musterd"
  patchelf --set-rpath '$ORIGIN/../../lib' "$tree/libexec/muster/muster-guardian"
  patchelf --set-rpath '$ORIGIN' "$tree"/lib/*
}

# The licences of what is in the tarball want their texts to be, too.
add_licences() {
  local package name
  mkdir -p "$tree/licences/common"
  while read -r package; do
    [[ -s /usr/share/doc/$package/copyright ]] || fail "/usr/share/doc/$package/copyright is missing"
    install -m 644 "/usr/share/doc/$package/copyright" "$tree/licences/$package.txt"
  done < <(sed -n 's|.*"pkg:deb/debian/\(.*\)@.*|\1|p' "$build/sbom.spdx.json")
  # Debian's copyright files name these by their place on a Debian.
  while read -r name; do
    [[ ! -f /usr/share/common-licenses/$name ]] ||
      install -m 644 "/usr/share/common-licenses/$name" "$tree/licences/common/"
  done < <(grep -rhoE '/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9+]' "$tree/licences" |
    sed 's|.*/||' | sort -u)
}

# check_needs: every program and library in the tree needs only what is in it, or glibc's own; and nothing of
# a glibc that this machine does not have. Sets `glibc` to the oldest one that will do.
check_needs() {
  local file name ours path
  for file in "$tree"/bin/* "$tree"/libexec/muster/* "$tree"/lib/*; do
    path=${file#"$tree/"}
    readelf --dynamic --wide "$file" >"$work/dynamic"
    while read -r name; do
      is_glibc "$name" || [[ -f $tree/lib/$name ]] || fail "$path needs $name, which is not in lib/"
    done < <(sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' "$work/dynamic")
    # shellcheck disable=SC2016  # As readelf prints it.
    grep -qE '\(RUNPATH\).*\[\$ORIGIN(/\.\./lib|/\.\./\.\./lib)?\]$' "$work/dynamic" ||
      fail "$path does not say where its libraries are"
    readelf --version-info --wide "$file" >"$work/versions"
    ! grep -q 'Name: GLIBC_PRIVATE' "$work/versions" || fail "$path needs exactly this machine's glibc"
    sed -n "s|.*Name: GLIBC_\([0-9.]*\) .*|\1 $path|p" "$work/versions" >>"$work/glibc"
  done
  read -r glibc path < <(sort --version-sort "$work/glibc" | tail -1) ||
    fail "readelf does not tell which glibc these programs need"
  ours=$(getconf GNU_LIBC_VERSION)
  printf '%s\n' "$glibc" "${ours#glibc }" | sort --version-sort --check=silent ||
    fail "$path needs glibc $glibc, and this machine has $ours"
}

command -v patchelf >/dev/null || fail "patchelf is missing; ./dev setup installs it"
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct)} ||
  fail "this is no checkout: set SOURCE_DATE_EPOCH to the time that the files are to have"
version=$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")$/\1/p' "$build/CPackConfig.cmake")
name=muster-$version-linux-$(uname -m)
tree=$work/$name

for component in muster musterd; do
  cmake --install "$build" --component "$component" --prefix "$tree" --strip >"$work/install.log" ||
    fail "$(cat "$work/install.log")"
done
# The units are for the places of the packages. Settings are an example here, as there is no /etc of ours.
mkdir "$tree/share/muster"
mv "$tree/etc/muster/musterd.yaml" "$tree/share/muster/"
rm -r "${tree:?}"/{etc,lib,share/doc}
cp "$here/../../LICENSE" "$build/sbom.spdx.json" "$tree/"
add_libraries "$build"/bin/{muster,musterd,muster-guardian}
set_paths
add_licences
check_needs
sed -e "s/@VERSION@/$version/g" -e "s/@GLIBC@/$glibc/g" "$here/README.txt.in" >"$tree/README.txt"

tar --create --file - --directory "$work" --format=ustar --sort=name --owner=0 --group=0 --numeric-owner \
  --mode=u=rwX,go=rX --mtime="@$epoch" "$name" | gzip -9 --no-name >"$work/$name.tar.gz"
mv "$work/$name.tar.gz" "$into/"
echo "$name.tar.gz: $(du -k "$into/$name.tar.gz" | cut -f1) KiB, $(find "$tree/lib" -type f | wc -l) libraries," \
  "needs glibc $glibc or later"
