# shellcheck shell=bash
# ./dev test: the suites, their times against their budgets, and one line of numbers at the end.
source tools/dev/check.sh
source tools/dev/budgets.sh

passed=0
failed=0
skipped=0
crowded=()
failed_suites=()
repeats=()
result_files=()
times=()

results() { python3 tools/dev/results.py "$@"; }

# count_results SUITE JUNIT_FILE: adds a ctest run to the totals. A test that did not run has not passed.
count_results() {
  local suite=$1 file=$2 total bad left_out again
  read -r total bad left_out < <(results counts "$file") || return 1
  skipped=$((skipped + left_out))
  passed=$((passed + total - bad - left_out))
  failed=$((failed + bad))
  mapfile -t again < <(results repeat "$suite" "$file")
  repeats+=("${again[@]}")
  result_files+=("$file")
  ((bad == 0))
}

# run_ctest SUITE PRESET WORDS [ctest options…]: fails when a test does; says so when none matches.
run_ctest() {
  local suite=$1 dir words=$3 file
  dir=$(build_dir "$2")
  shift 3
  if ctest --test-dir "$dir" -N "$@" | grep -q '^Total Tests: 0$'; then
    say "    no test has $words: nothing to run"
    # Where a name was asked for, it is wrong; a suite may be empty.
    [[ " $* " != *" -R "* ]]
    return
  fi
  mkdir -p build/results
  file=$PWD/build/results/${#result_files[@]}-$suite.xml
  rm -f "$file"
  "${sanitizer_run[@]}" ctest --test-dir "$dir" -j6 --output-on-failure --output-junit "$file" "$@" |
    results tell "$suite"
  [[ -f $file ]] || return 1
  again_alone "$dir" "$file"
  count_results "$suite" "$file"
}

# again_alone DIR JUNIT_FILE: real processes share two cores with five other tests, and a deadline of
# theirs may pass for that alone. A test that failed runs once more with the machine to itself; if it
# passes then, it counts as passed and is named at the end, because it wants a look.
again_alone() {
  local dir=$1 file=$2 names name
  mapfile -t names < <(results failed "$file")
  ((${#names[@]} > 0 && ${#names[@]} <= 8)) || return 0
  for name in "${names[@]}"; do
    [[ -n $name ]] || continue
    say "    $name failed beside others: once more, alone"
    rm -f "$file.alone"
    "${sanitizer_run[@]}" ctest --test-dir "$dir" --output-on-failure --output-junit "$file.alone" \
      -R "^$name\$" || true # What came of it is in the file.
    if [[ $(results counts "$file.alone") == "1 0 0" ]]; then
      crowded+=("$name")
      results passed "$file" "$name"
    fi
  done
}

# Sanitizers of this age cannot map their shadow memory when the kernel randomizes more than
# 28 bits; reading the setting takes root, so an unreadable one counts as too many.
sanitizer_run=()
avoid_random_layout() {
  local bits
  bits=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 32)
  ((bits > 28)) || return 0
  if setarch -R true 2>/dev/null; then
    sanitizer_run=(setarch -R)
  else
    say "    note: addresses are randomized by $bits bits and setarch -R is not permitted"
  fi
}

suite_check() { run_checks "${text_checks[@]}"; }
# What `./dev run` builds is built in another way.
suite_build() { build_preset dev && build_preset quick musterd muster muster-guardian; }
suite_compile() { run_checks "${compiled_checks[@]}"; }
# Every case that docs/defects.md names must be among those that ran.
suite_tests() {
  local cases=$PWD/build/cases status=0
  build_preset dev || return
  rm -rf "$cases"
  GTEST_OUTPUT="xml:$cases/" run_ctest tests dev "been declared" || status=1
  python3 tools/check/ledger.py --root . --results "$cases" || status=1
  return "$status"
}
# Of the dev build, which is there already: what is tested is how it is packed.
suite_packages() {
  make_packages dev build/packages-dev && make_tarball dev build/packages-dev &&
    tests/packaging/tarball_test.sh build/packages-dev/*.tar.gz &&
    make_wheel dev build/packages-dev && tests/packaging/wheel_test.sh build/packages-dev/*.whl &&
    make_npm dev build/packages-dev && tests/packaging/npm_test.sh build/packages-dev/*.tgz build/bin &&
    build_preset dev musterd_next &&
    tests/packaging/chroot_test.sh build/packages-dev build/bin
}
# suite_asan [REGEX], suite_tsan [REGEX]: only the tests with such a name if there is one.
suite_asan() {
  build_preset asan tests_unit tests_sim tests_store || return
  avoid_random_layout
  run_ctest asan asan "the label unit, sim or store" -L '^(unit|sim|store)$' ${1:+-R "$1"}
}
suite_tsan() {
  build_preset tsan tests_tsan || return
  avoid_random_layout
  # Debian's libraries are not instrumented: without this option each lock inside gRPC is a report.
  TSAN_OPTIONS="ignore_noninstrumented_modules=1 suppressions=$PWD/tools/tsan.supp ${TSAN_OPTIONS:-}" \
    run_ctest tsan tsan "the label tsan" -L '^tsan$' ${1:+-R "$1"}
}

# run_suite NAME COMMAND…: a suite that fails before its tests could counts as one failure, so that
# the last line never reads "0 failed" for a build that broke.
run_suite() {
  local name=$1 began=$SECONDS before=$failed
  shift
  sanitizer_run=()
  if ! step "$name" "$@"; then
    failed_suites+=("$name")
    if ((failed == before)); then
      failed=$((failed + 1))
      repeats+=("$name: ./dev test '$name'")
    fi
  fi
  times+=("$name $((SECONDS - began))")
}

report() {
  local line name took note
  printf '\n%-10s %8s %8s\n' suite budget took
  for line in "${times[@]}"; do
    read -r name took <<<"$line"
    note=
    if [[ -n ${budget[$name]:-} ]] && ((took > budget[$name])); then note='  over budget'; fi
    printf '%-10s %8s %8s%s\n' "$name" "${budget[$name]:--}" "$took" "$note"
  done
  ((${#crowded[@]} == 0)) || printf '\npassed only when alone: %s\n' "${crowded[*]}"
  if ((${#failed_suites[@]})); then
    printf '\nfailed: %s; what failed, and how to repeat it:\n' "${failed_suites[*]}"
    printf '  %s\n' "${repeats[@]}"
  fi
  printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  ((${#result_files[@]} == 0)) || results slowest "${result_files[@]}"
  ((failed == 0))
}

# run_matching REGEX: the tests of the dev build with such a name; none is a failure here.
run_matching() {
  build_preset dev || return
  ctest --test-dir build -N -R "$1" | grep -q '^Total Tests: 0$' &&
    { say "    no suite and no test is named $1"; return 1; }
  run_ctest tests dev "the name $1" -R "$1"
}

# run_tests [suite, suite:regex or regex…]: all suites unless some are named.
run_tests() {
  local name
  (($#)) || set -- "${suites[@]}"
  for name in "$@"; do
    if [[ $name =~ ^(asan|tsan):(.+)$ ]]; then
      run_suite "$name" "suite_${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    elif [[ " ${suites[*]} " == *" $name "* ]]; then
      run_suite "$name" "suite_$name"
    else
      run_suite "$name" run_matching "$name"
    fi
  done
  report
}

# soak_round FIRST SEEDS FIRST_SCHEDULE SCHEDULES KILLS HISTORIES
soak_round() {
  local log
  log=$(build_dir release)/Testing/Temporary/LastTest.log
  # Verbose, for what they say of how far they are.
  MUSTER_SOAK=1 MUSTER_SIM_FIRST=$1 MUSTER_SIM_SEEDS=$2 \
    run_suite soak run_ctest soak release "the label sim or model" -V -L '^(sim|model)$'
  sed -nE '/^sim_[a-z]+: .* simulated hours/p' "$log" | tee -a build/release/soak.txt
  MUSTER_SCHEDULE_FIRST=$3 MUSTER_SCHEDULES=$4 MUSTER_SCHEDULES_AT_ONCE=24 \
    run_suite schedules run_ctest schedules release "schedules of muster run" -V -R '^test_run_schedules'
  MUSTER_KILL_CYCLES=$5 run_suite kills run_ctest kills release "kills of servers" -V -R '^test_musterd_kills$'
  MUSTER_ADDS_SECONDS=300 run_suite adds run_ctest adds release "adds beside an election" -V -R '^test_counters_process$'
  MUSTER_LINEARIZABILITY_ROUNDS=$6 run_suite histories run_ctest histories release "histories of clusters" \
    -V -R '^test_musterd_linearizability$'
}

# Over all rounds: "sim_x: N seeds, H simulated hours, …, C CPU s, …".
soak_totals() {
  awk '{ sub(/:$/, "", $1); seeds[$1] += $2; hours[$1] += $4; for (i = 2; i < NF; ++i) if ($i == "CPU") cpu[$1] += $(i - 1) }
       END { for (sim in seeds) printf "%s, in all: %d seeds, %.0f simulated hours, %.0f CPU s\n", sim, seeds[sim], hours[sim], cpu[sim] }' \
    build/release/soak.txt
}

# run_soak [SEEDS SCHEDULES]: what a test run can afford only in small: the simulations over far more
# seeds, `muster run` with real processes under far more schedules on each of three stores, more kills
# of servers under load, five minutes of adds beside an election, and histories of real clusters.
# Without numbers, in rounds until interrupted by Ctrl-C, each with seeds and schedules of its own.
run_soak() {
  local seeds=${1:-5000} schedules=${2:-40} round
  [[ $seeds =~ ^[1-9][0-9]*$ ]] || die "soak takes a number of seeds, not \"$seeds\""
  [[ $schedules =~ ^[1-9][0-9]*$ ]] || die "soak takes a number of schedules, not \"$schedules\""
  configure release -DMUSTER_TIMEOUT_FACTOR=1000 &&
    build_preset release tests_sim test_run_schedules test_musterd_kills \
      test_musterd_linearizability test_counters_process || return
  : >build/release/soak.txt
  if (($# > 0)); then
    soak_round 1 "$seeds" 1 "$schedules" 200 50
  else
    trap 'say "interrupted"; soak_totals; report; exit' INT TERM
    for ((round = 0; failed == 0; ++round)); do
      soak_round $((round * seeds + 1)) "$seeds" $((round * schedules + 1)) "$schedules" 20 5
      say "==> after $((round + 1)) rounds"
      soak_totals
    done
  fi
  soak_totals
  report
}
