# shellcheck shell=bash
# ./dev check: the rules that a tool keeps, so that people do not have to. Each is a program of its
# own in tools/check and prints file:line and a sentence for what it finds.

text_checks=(format includes banned sizes house shell words ledger mutants aborts) # All of them together take a second.
compiled_checks=(headers threads)
checks=("${text_checks[@]}" "${compiled_checks[@]}")

# run_checks [name…]: those that need no compiler unless some are named; runs every one even after a
# failure.
run_checks() {
  local name bad=()
  (($#)) || set -- "${text_checks[@]}"
  for name in "$@"; do
    [[ " ${checks[*]} " == *" $name "* ]] || die "no check is named $name; there are: ${checks[*]}"
  done
  for name in "$@"; do
    step "check $name" python3 "tools/check/$name.py" --root . || bad+=("$name")
  done
  ((${#bad[@]} == 0)) || {
    say "checks failed: ${bad[*]}"
    return 1
  }
}
