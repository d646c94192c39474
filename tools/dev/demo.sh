# shellcheck shell=bash
# ./dev demo: three servers, twenty nodes, and the leader is killed; told in under a minute.

demo_nodes=20
demo_dir=
demo_pids=()

# demo_runs PID: the number of one that has ended may be another process's by now.
demo_runs() { [[ $(ps -o ppid= -p "$1") -eq $$ ]]; }

# demo_kill PID: returns when it is gone. Disowned, so that the shell does not comment on it.
demo_kill() {
  if demo_runs "$1"; then kill -s KILL "$1"; fi
  while demo_runs "$1"; do sleep 0.05; done
}

# demo_end: everything that was started, and its files.
demo_end() {
  local pid
  for pid in "${demo_pids[@]}"; do demo_kill "$pid"; done
  [[ -z $demo_dir ]] || rm -rf "$demo_dir"
}

tell() { printf '\n[%2d s] %s\n' "$SECONDS" "$*"; }

# demo_until WORDS SECONDS COMMAND…: false, and says so, when it does not come true in time.
demo_until() {
  local words=$1 limit=$((SECONDS + $2))
  shift 2
  until "$@"; do
    ((SECONDS < limit)) || { say "gave up waiting: $words" && return 1; }
    sleep 0.2
  done
}

# free_ports N: ports that nobody listens on now.
free_ports() {
  python3 - "$1" <<'END'
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for each in held: each.bind(("127.0.0.1", 0))
print(*[each.getsockname()[1] for each in held])
END
}

demo_leader() { muster health --json 2>/dev/null | sed -n 's/.*"leader_id":"\([^"]*\)".*/\1/p'; }
demo_led() { leader=$(demo_leader) && [[ -n $leader ]] && muster health >/dev/null 2>&1; }
demo_led_by_another() { demo_led && [[ $leader != "$1" ]]; }
demo_active() { muster health --json 2>/dev/null | grep -q "\"active_nodes\":$1,"; }

# play_demo DIRECTORY_OF_PROGRAMS
play_demo() {
  local ports n peers="" killed began leader
  local -A server_pid=()
  PATH=$1:$PATH
  SECONDS=0
  demo_dir=$(mktemp -d)
  trap demo_end EXIT
  read -r -a ports <<<"$(free_ports 6)"
  for n in 1 2 3; do peers+=${peers:+,}s$n=127.0.0.1:${ports[n + 2]}; done
  export MUSTER_SERVER=127.0.0.1:${ports[0]},127.0.0.1:${ports[1]},127.0.0.1:${ports[2]}

  tell "Three servers start; each runs a member of a Raft cluster underneath."
  for n in 1 2 3; do
    musterd --insecure --limits off --id s$n --engine managed --peers "$peers" \
      --data-dir "$demo_dir/s$n" --listen "127.0.0.1:${ports[n - 1]}" >"$demo_dir/s$n.log" 2>&1 &
    server_pid[s$n]=$!
    demo_pids+=($!)
    disown
  done
  demo_until "a leader" 30 demo_led || return
  tell "$leader leads. $(muster health)"

  tell "$demo_nodes nodes register and send heartbeats."
  for ((n = 1; n <= demo_nodes; ++n)); do
    muster node register "node-$n" --address 10.0.0.$n --port 7000 --keep-alive \
      --heartbeat-interval 1s >"$demo_dir/node-$n.log" 2>&1 &
    demo_pids+=($!)
    disown
  done
  demo_until "$demo_nodes active nodes" 20 demo_active "$demo_nodes" || return
  tell "All $demo_nodes are ACTIVE. The key \"hello\" belongs to:"
  muster ring lookup hello

  killed=$leader
  tell "kill -9 $killed, the leader."
  demo_kill "${server_pid[$killed]}"
  began=$SECONDS
  demo_until "another leader" 20 demo_led_by_another "$killed" || return
  tell "$leader leads, at most $((SECONDS - began + 1)) s later. $(muster health)"
  demo_until "$demo_nodes active nodes" 10 demo_active "$demo_nodes" || return
  muster node drain node-1
  tell "Writes go on; no node was lost, and none was taken for dead."
  muster topology | head -6
  tell "That is all. Your own: ./dev run"
}

run_demo() {
  step "build" build_preset quick musterd muster muster-guardian || return
  play_demo "$PWD/build/quick/bin"
}
