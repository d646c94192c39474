#!/usr/bin/env bash
# Builds this project with the installed library and runs it, by CMake and by pkg-config.
#
# usage: build.sh DIRECTORY_TO_BUILD_IN [PREFIX]    (PREFIX: where the library is, unless with the system's)
# STATIC=no: what libmuster.a needs is not here, and only the shared library is tried.
set -euo pipefail
into=$1
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
if (($# > 1)); then
  export CMAKE_PREFIX_PATH=$2
  PKG_CONFIG_PATH=$(dirname "$(find "$2" -name muster.pc)")
  export PKG_CONFIG_PATH
  LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
  export LD_LIBRARY_PATH
fi
cmake -S "$here" -B "$into" -G Ninja -DSTATIC="${STATIC:-yes}" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF >"$into.log" || {
  cat "$into.log"
  exit 1
}
cmake --build "$into"
"$into/app"
if [[ ${STATIC:-yes} == yes ]]; then "$into/app_static"; fi

read -ra flags <<<"$(pkg-config --cflags --libs muster)"
g++ -std=c++20 "$here/app.cc" -o "$into/by-pkg-config" "${flags[@]}"
"$into/by-pkg-config"
