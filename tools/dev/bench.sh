# shellcheck shell=bash
# ./dev bench: what is measured. `build` measures the work on Muster itself; the others are
# bench/NAME.sh or the program bench_NAME of the release build.
source tools/dev/bench_build.sh

bench_names() {
  echo build
  [[ -d bench ]] || return 0
  find bench -name '*.sh' -printf '%f\n' | sed 's/\.sh$//'
  find bench -name 'bench_*.cc' -printf '%f\n' | sed 's/^bench_//;s/\.cc$//'
}

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
