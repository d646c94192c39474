#!/usr/bin/env bash
# Projects outside the tree find the library: installed, by CMake and by pkg-config, as docs/library.md shows it; the
# modules inside, as docs/client.md shows them; and as a part of another project, by add_subdirectory and by
# FetchContent.
# `modules` takes 40 s: CMake and g++ link programs with all of them.
#
# usage: outside_test.sh BUILD_DIRECTORY installed|modules|taken-in
set -euo pipefail
build=$(readlink -f "$1")
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(readlink -f "$here/../..")
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-outside-XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# shown DOCUMENT LANGUAGE: the lines of the document's blocks in it.
shown() { sed -n "/^\`\`\`$2\$/,/^\`\`\`\$/{/^\`\`\`/!p}" "$root/docs/$1"; }
# as_shown DOCUMENT PROJECT PC_FILE: installs by the document's first command, and builds by its second, too.
as_shown() {
  local commands
  mapfile -t commands < <(shown "$1" sh)
  [[ ${#commands[@]} == 2 && ${commands[0]} == *"cmake --install build "* && ${commands[1]} == g++* ]] ||
    fail "docs/$1 has other commands than this test runs"
  mkdir -p "$work/tree"
  ln -s "$build" "$work/tree/build"
  (cd "$work/tree" && eval "${commands[0]//DIR/"$work/prefix"}") >"$work/install.log"
  cp -r "$here/$2" "$work/project"
  shown "$1" cmake >"$work/project/shown.cmake"
  "$work/project/build.sh" "$work/build" "$work/prefix"
  PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name "$3")")
  export PKG_CONFIG_PATH
  (cd "$work/project" && eval "${commands[1]}")
  LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$work/project/a.out"
}

case $2 in
  installed)
    as_shown library.md outside muster.pc
    # Nothing but the public headers, and no word of other libraries in them.
    (cd "$work/prefix/include" && find . -name '*.h' | sort) >"$work/installed"
    (cd "$root/include" && find . -name '*.h' | sort) | diff - "$work/installed" || fail "other headers are installed"
    ;;
  modules) as_shown client.md modules muster-modules.pc ;;
  taken-in)
    # Compiling the library once more would take minutes and show little: the program is compiled against it, and
    # every step to the linked program is there.
    for how in subdirectory fetch; do
      [[ $how == subdirectory || -d $root/.git || -f $root/.git ]] || continue
      echo "== $how"
      cmake -S "$here/outside" -B "$work/$how" -G Ninja -DHOW="$how" -DMUSTER_TREE="$root" \
        -DCMAKE_BUILD_TYPE=Debug >"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
      ninja -C "$work/$how" CMakeFiles/app.dir/app.cc.o
      ninja -C "$work/$how" -t commands app | grep -e "-o app " >/dev/null || fail "nothing links the program"
    done
    ;;
  *) fail "what is $2?" ;;
esac
