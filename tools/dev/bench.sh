# shellcheck shell=bash
# ./dev bench: what is measured. `build` measures the work on Muster itself; the others are
# bench/NAME.sh or the program bench_NAME of the release build.

bench_names() {
  echo build
  [[ -d bench ]] || return 0
  find bench -name '*.sh' -printf '%f\n' | sed 's/\.sh$//'
  find bench -name 'bench_*.cc' -printf '%f\n' | sed 's/^bench_//;s/\.cc$//'
}

now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# bar WORDS MS SECONDS: one line of a result against what it should stay below.
bar() {
  local verdict=met
  (($2 <= $3 * 1000)) || verdict="NOT met"
  printf '%-56s %4d.%d s   bar %d s: %s\n' "$1" $(($2 / 1000)) $(($2 % 1000 / 100)) "$3" "$verdict"
  [[ $verdict == met ]]
}

# Works on a copy, so that an interrupted run leaves no edit behind, and without the compiler
# cache, which would measure itself.
bench_build() {
  local tree=build/bench-build core began full cycle code=0
  rm -rf "$tree"
  mkdir -p "$tree"
  git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$tree"
  export CCACHE_DISABLE=1
  cd "$tree" || return
  began=$(now_ms)
  step "full build from nothing" build_preset dev || return
  full=$(($(now_ms) - began))

  core=$(largest_source src/core)
  [[ -n $core ]] || { say "src/core holds no .cc file: no cycle to measure"; return 1; }
  # A new symbol, not only a comment: what depends on the object must be linked again.
  printf '\nnamespace { [[maybe_unused]] const int kEdited = 1; }\n' >>"$core"
  began=$(now_ms)
  step "edit $core, build test_core, run it" bench_cycle || return
  cycle=$(($(now_ms) - began))
  bar "full build from nothing, $(nproc) jobs, no ccache" "$full" 480 || code=1
  bar "edit, compile, test of $core" "$cycle" 15 || code=1
  return "$code"
}
# largest_source FOLDER: the slowest to compile is most likely the longest.
largest_source() {
  find "$1" -name '*.cc' ! -name '*_test.cc' ! -name '*_fuzz.cc' -printf '%s %p\n' |
    sort -n | tail -n 1 | cut -d ' ' -f 2
}

bench_cycle() { build_preset dev test_core && ctest --test-dir build -R '^test_core$'; }

bench_one() {
  if [[ $1 == build ]]; then
    (bench_build)
  elif [[ -f bench/$1.sh ]]; then
    build_preset release && bash "bench/$1.sh"
  else
    build_preset release "bench_$1" && "build/release/bin/bench_$1"
  fi
}

# run_bench [NAME…|list]: all of them unless some are named.
run_bench() {
  local names name bad=()
  mapfile -t names < <(bench_names | sort -u)
  if [[ $* == list ]]; then
    printf '%s\n' "${names[@]}"
    return
  fi
  (($#)) || set -- "${names[@]}"
  for name in "$@"; do
    [[ " ${names[*]} " == *" $name "* ]] || die "no benchmark $name; there are: ${names[*]}"
    step "bench $name" bench_one "$name" || bad+=("$name")
  done
  [[ ! -d bench/results ]] || bench/picture.py
  ((${#bad[@]} == 0)) || die "benchmarks failed: ${bad[*]}"
}
