# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # They belong to the script that sources this.
# What the tarball and the wheel share: the libraries of programs beside them. To be sourced by a script that
# has set `build`, `work` and `tree`.

fail() {
  echo "${0##*/}: $*" >&2
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

# add_libraries DIRECTORY PROGRAM…: copies what the programs load into the directory, each by the name that it
# is asked for by.
add_libraries() {
  local into=$1 program name path
  shift
  mkdir -p "$into"
  for program in "$@"; do
    while read -r name path; do
      if is_glibc "$name"; then continue; fi
      [[ $path == /* ]] || fail "$program needs $name, which this machine does not have"
      install -m 644 "$path" "$into/$name"
    done < <(ldd "$program" | awk '$2 == "=>" { print $1, $3 }')
  done
}

# add_licences DIRECTORY: the licences of what is bundled want their texts to be there, too.
add_licences() {
  local into=$1 package name
  mkdir -p "$into/common"
  while read -r package; do
    [[ -s /usr/share/doc/$package/copyright ]] || fail "/usr/share/doc/$package/copyright is missing"
    install -m 644 "/usr/share/doc/$package/copyright" "$into/$package.txt"
  done < <(sed -n 's|.*"pkg:deb/debian/\(.*\)@.*|\1|p' "$build/sbom.spdx.json")
  # Debian's copyright files name these by their place on a Debian.
  while read -r name; do
    [[ ! -f /usr/share/common-licenses/$name ]] ||
      install -m 644 "/usr/share/common-licenses/$name" "$into/common/"
  done < <(grep -rhoE '/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9+]' "$into" |
    sed 's|.*/||' | sort -u)
}

# check_needs DIRECTORY PROGRAM…: the programs, and the libraries in the directory, need only what is there, or
# glibc's own; and nothing of a glibc that this machine does not have. Sets `glibc` to the oldest one that will
# do.
check_needs() {
  local lib=$1 file name ours path
  shift
  for file in "$@" "$lib"/*; do
    path=${file#"$tree/"}
    readelf --dynamic --wide "$file" >"$work/dynamic"
    while read -r name; do
      is_glibc "$name" || [[ -f $lib/$name ]] || fail "$path needs $name, which is not in ${lib#"$tree/"}/"
    done < <(sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' "$work/dynamic")
    # shellcheck disable=SC2016  # As readelf prints it.
    grep -qE '\(RUNPATH\).*\[\$ORIGIN(/\.\./lib|/\.\./\.\./lib)?\]$' "$work/dynamic" ||
      fail "$path does not say where its libraries are"
    readelf --version-info --wide "$file" >"$work/versions"
    ! grep -q 'Name: GLIBC_PRIVATE' "$work/versions" || fail "$path needs exactly this machine's glibc"
    sed -n "s|.*Name: GLIBC_\([0-9.]*\) .*|\1 $path|p" "$work/versions" >>"$work/glibc"
  done
  read -r glibc path < <(sort --version-sort "$work/glibc" | tail -1) ||
    fail "readelf does not tell which glibc is needed"
  ours=$(getconf GNU_LIBC_VERSION)
  printf '%s\n' "$glibc" "${ours#glibc }" | sort --version-sort --check=silent ||
    fail "$path needs glibc $glibc, and this machine has $ours"
}

# Sets `epoch` to the time that the files have, and `version`.
read_release() {
  command -v patchelf >/dev/null || fail "patchelf is missing; ./dev setup installs it"
  epoch=${SOURCE_DATE_EPOCH:-$(git -C "$(dirname "${BASH_SOURCE[0]}")" log -1 --format=%ct)} ||
    fail "this is no checkout: set SOURCE_DATE_EPOCH to the time that the files are to have"
  version=$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")$/\1/p' "$build/CPackConfig.cmake")
}
