#!/usr/bin/env bash
# Builds this project with the installed library and runs it, by CMake and by pkg-config.
#
# usage: build.sh DIRECTORY_TO_BUILD_IN [PREFIX]    (PREFIX: where the library is, unless with the system's)
set -euo pipefail
into=$1
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
if (($# > 1)); then
  export CMAKE_PREFIX_PATH=$2
  PKG_CONFIG_PATH=$(dirname "$(find "$2" -name muster-modules.pc)")
  export PKG_CONFIG_PATH
fi
cmake -S "$here" -B "$into" -G Ninja -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF >"$into.log" || {
  cat "$into.log"
  exit 1
}
cmake --build "$into"
"$into/app"

read -ra flags <<<"$(pkg-config --cflags --libs muster-modules)"
g++ "$here/app.cc" -o "$into/by-pkg-config" "${flags[@]}"
"$into/by-pkg-config"
