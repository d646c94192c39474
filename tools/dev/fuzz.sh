# shellcheck shell=bash
# ./dev fuzz: every *_fuzz.cc for a while, two at once, each with a corpus that grows over runs and begins with
# tests/fuzz/NAME where that is.

# fuzz_one SECONDS TARGET: the log is shown only when something was found.
fuzz_one() {
  local seconds=$1 target=$2 dir=build/fuzz/corpus/$2 found=build/fuzz/found/$2
  local seeds=()
  if [[ -d tests/fuzz/$target ]]; then seeds=("tests/fuzz/$target"); fi
  mkdir -p "$dir" "$found"
  say "    $target: $seconds s, corpus of $(find "$dir" -type f | wc -l)"
  if build/fuzz/bin/"$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
    -artifact_prefix="$found/" "$dir" "${seeds[@]}" >"$found.log" 2>&1; then
    say "    $target: nothing found, corpus now $(find "$dir" -type f | wc -l)"
  else
    tail -n 60 "$found.log"
    say "    $target: FOUND something, the input is in $found"
    return 1
  fi
}

# run_fuzz [SECONDS] [target…]
run_fuzz() {
  local seconds=600 all target
  if [[ ${1:-} =~ ^[0-9]+$ ]]; then
    seconds=$1
    shift
  fi
  mapfile -t all < <(find src -name '*_fuzz.cc' -printf '%f\n' | sed 's/\.cc$//' | sort)
  if ((${#all[@]} == 0)); then
    say "no src/**/*_fuzz.cc exists: nothing to fuzz"
    return
  fi
  for target in "$@"; do
    [[ " ${all[*]} " == *" $target "* ]] || die "no fuzz target $target; there are: ${all[*]}"
  done
  (($#)) || set -- "${all[@]}"
  step "build the fuzz targets" build_preset fuzz "$@" || return
  rm -f build/fuzz/failed
  for target in "$@"; do
    while (($(jobs -rp | wc -l) >= 2)); do wait -n || true; done
    fuzz_one "$seconds" "$target" || touch build/fuzz/failed &
  done
  wait
  [[ ! -e build/fuzz/failed ]]
}
