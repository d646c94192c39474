# shellcheck shell=bash
# ./dev run: one embedded server, to try things out.

# run_server [options of musterd…]
run_server() {
  step "build musterd" build_preset dev musterd muster || return
  say "state in ./.muster; stop with Ctrl-C"
  exec build/bin/musterd --dev "$@"
}
