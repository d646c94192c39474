# shellcheck shell=bash
# ./dev bench build: what it costs to build, try and test Muster itself, in wall time and in CPU seconds, with
# nothing cached unless it says so. MUSTER_BENCH_PARTS chooses among the parts; all of them take more than
# an hour, most of it for the two runs of all tests.

source tools/dev/fresh.sh

bench_parts=(full edit run test)

# bar WORDS WHAT MEASURED LIMIT: one line of a result against what it should stay below.
bar() {
  local verdict=met
  # What was not measured is not met.
  [[ $3 =~ ^[0-9.]+$ ]] && awk -v a="$3" -v b="$4" 'BEGIN { exit !(a + 0 <= b + 0) }' || verdict="NOT met"
  printf '%-52s %-9s %8s   bar %s: %s\n' "$1" "$2" "$3" "$4" "$verdict" >>"$bench_report"
}

# clocked COMMAND…: runs it; sets wall and cpu to seconds.
clocked() {
  local TIMEFORMAT='%R %U %S' code=0 took
  took=$(mktemp)
  { time "$@" 1>&3 2>&4 || code=$?; } 3>&1 4>&2 2>"$took"
  read -r wall cpu < <(awk '{ printf "%.1f %.1f\n", $1, $2 + $3 }' "$took")
  rm -f "$took"
  return "$code"
}

# largest_source FOLDER: the slowest to compile is most likely the longest.
largest_source() {
  find "$1" -name '*.cc' ! -name '*_test.cc' ! -name '*_fuzz.cc' -printf '%s %p\n' |
    sort -n | tail -n 1 | cut -d ' ' -f 2
}

bench_full() {
  step "full build from nothing" clocked build_preset dev || return
  bar "full build from nothing, $(nproc) jobs" wall "$wall" 400
  bar "full build from nothing, $(nproc) jobs" CPU "$cpu" 750
}

bench_test_core() { build_preset dev test_core && ctest --test-dir build -R '^test_core$'; }
bench_test_coordinator() {
  build_preset dev && ctest --test-dir build -R '^test_coordinator$'
}
# A new symbol, not only a comment: what depends on an object must be linked again.
bench_edit() {
  local core header=src/coordinator/hub.h
  core=$(largest_source src/core)
  build_preset dev || return
  printf '\nnamespace muster { int edited() { return 1; } }\n' >>"$core"
  step "edit $core, build test_core, run it" clocked bench_test_core || return
  bar "edit $core, compile, test" wall "$wall" 4
  bar "edit $core, compile, test" CPU "$cpu" 8
  build_preset dev || return # What else the first edit asks for is not the second one's.
  printf '\nnamespace muster { inline int edited_header() { return 1; } }\n' >>"$header"
  step "edit $header, build all that includes it, run test_coordinator" \
    clocked bench_test_coordinator || return
  bar "edit $header, compile all, test" wall "$wall" 60
  bar "edit $header, compile all, test" CPU "$cpu" 120
}

# In a bare Debian, until the server says where it listens.
# shellcheck disable=SC2016  # For the shell inside.
bench_until_it_listens='./dev run --listen 127.0.0.1:0 >/root/run.log 2>&1 & server=$!
  until grep -q "gRPC on" /root/run.log; do
    kill -0 $server 2>/dev/null || { tail -n 40 /root/run.log; exit 1; }
    sleep 0.1
  done'
bench_run() {
  local suite root packages
  for suite in "${fresh_suites[@]}"; do
    root=$PWD/build/fresh/$suite
    fresh_root "$suite" "$root" && as_root cp -r "$bench_tree" "$root/root/muster" || return
    step "./dev run on a bare $suite" clocked fresh_run "$root" "$bench_until_it_listens" || return
    packages=$(as_root sed -n 's/^.* \([0-9]*\) newly installed.*$/\1/p' "$root/root/run.log")
    bar "./dev run on a bare $suite, until it listens" wall "$wall" 180
    bar "./dev run on a bare $suite, until it listens" packages "$packages" 100
    as_root rm -rf --one-file-system "$root"
  done
}

# Twice, with a compiler cache of its own that is empty at first; in between all that was built is removed.
bench_test() {
  local cache code=0
  cache=$(mktemp -d)
  step "./dev test, nothing cached" clocked env -u CCACHE_DISABLE CCACHE_DIR="$cache" ./dev test || code=1
  bar "./dev test, nothing cached" wall "$wall" 2100
  rm -rf build
  step "./dev test, all cached" clocked env -u CCACHE_DISABLE CCACHE_DIR="$cache" ./dev test || code=1
  bar "./dev test, all cached" wall "$wall" 900
  rm -rf "$cache"
  return "$code"
}

# Works on a copy, so that an interrupted run leaves no edit behind, and without the compiler cache, which
# would measure itself.
bench_build() {
  local bench_report bench_tree=$PWD/build/bench-build part code=0
  bench_report=$(mktemp)
  rm -rf "$bench_tree"
  mkdir -p "$bench_tree"
  git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$bench_tree"
  # Some tests and checks ask git for the files.
  git -C "$bench_tree" init -q && git -C "$bench_tree" add -A &&
    git -C "$bench_tree" -c user.name=bench -c user.email=bench@localhost commit -q -m bench || return
  export CCACHE_DISABLE=1
  for part in ${MUSTER_BENCH_PARTS:-${bench_parts[*]}}; do
    [[ " ${bench_parts[*]} " == *" $part "* ]] || die "no part $part; there are: ${bench_parts[*]}"
  done
  for part in ${MUSTER_BENCH_PARTS:-${bench_parts[*]}}; do
    # Each begins with the tree as it is and nothing built; an edit needs all built, by anyone.
    git -C "$bench_tree" checkout -q . || return
    [[ $part == edit ]] || rm -rf "$bench_tree/build"
    if [[ $part == run ]]; then bench_run; else (cd "$bench_tree" && "bench_$part"); fi || code=1
  done
  cat "$bench_report"
  ! grep -q 'NOT met$' "$bench_report" || code=1
  rm -f "$bench_report"
  return "$code"
}
