# shellcheck shell=bash
# shellcheck disable=SC2034  # test.sh reads both tables.
# The suites of ./dev test in their order, and the seconds each may take on two cores with a warm
# compiler cache. Taking longer is a warning, not a failure: machines differ.
suites=(check build compile tests packages asan tsan)
declare -A budget=(
  [check]=30
  [build]=480
  [compile]=240
  [tests]=780
  [packages]=240
  [asan]=720
  [tsan]=480
)
