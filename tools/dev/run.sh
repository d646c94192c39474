# shellcheck shell=bash
# ./dev run: one embedded server, to try things out.

# run_server [options of musterd…]: of the preset `quick`, which holds the programs alone and is made
# to be compiled fast, not to be edited.
run_server() {
  step "compile muster and musterd (about 2 minutes on two cores if nothing is compiled yet)" \
    build_preset quick musterd muster muster-guardian || return
  say "state in ./.muster; stop with Ctrl-C; in another terminal: build/quick/bin/muster health"
  exec build/quick/bin/musterd --dev "$@"
}
