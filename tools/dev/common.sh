# shellcheck shell=bash
# What every subcommand of ./dev shares: words on the terminal, and building a preset.

export NINJA_STATUS='[%f/%t %es] '
export PYTHONDONTWRITEBYTECODE=1
# So that the compiler cache knows in one clone what it has seen in another, precompiled headers
# included. They depend on no date and no macro of the command line.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros

say() { printf '%s\n' "$*"; }
die() {
  printf 'dev: %s\n' "$*" >&2
  exit 1
}

# step WORDS COMMAND…: says what is about to happen and how long it took; keeps the exit code.
step() {
  local words=$1 began=$SECONDS code=0
  shift
  say "==> $words"
  "$@" || code=$?
  if ((code == 0)); then
    say "    $words: $((SECONDS - began)) s"
  else
    say "    $words: failed after $((SECONDS - began)) s"
  fi
  return "$code"
}

build_dir() {
  if [[ $1 == dev ]]; then echo build; else echo "build/$1"; fi
}

# configure PRESET [cmake options…]: quiet unless it fails. Ninja itself reconfigures when a
# CMake file or the set of sources changes; it does not watch the presets, so this does.
configure() {
  local preset=$1 dir
  shift
  dir=$(build_dir "$preset")
  if (($# == 0)) && [[ $dir/build.ninja -nt CMakePresets.json ]]; then return; fi
  mkdir -p "$dir"
  cmake --preset "$preset" "$@" >"$dir/configure.log" 2>&1 || {
    cat "$dir/configure.log"
    return 1
  }
}

# build_preset PRESET [targets…]: everything in it unless targets are named.
build_preset() {
  local preset=$1
  shift
  configure "$preset" || return
  cmake --build "$(build_dir "$preset")" -j "$(nproc)" ${1:+--target "$@"}
}
