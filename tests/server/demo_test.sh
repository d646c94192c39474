#!/usr/bin/env bash
# What ./dev demo and ./dev run do once everything is built: bounded, and by what they say.
# Takes about 5 s: three servers with their etcd start, and the lease of 2 s of the killed leader runs out.
# usage: demo_test.sh DIRECTORY_OF_PROGRAMS
set -euo pipefail
programs=$(readlink -f "$1")
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."

told=$(timeout 100 bash -c "source tools/dev/common.sh
  source tools/dev/demo.sh
  play_demo '$programs'" 2>&1) || {
  printf '%s\n' "$told"
  echo "the demo failed"
  exit 1
}
for words in "s[123] leads" "All 20 are ACTIVE" "kill -9 s[123]" "Writes go on"; do
  grep -q "$words" <<<"$told" || {
    printf '%s\n' "$told"
    echo "the demo did not tell: $words"
    exit 1
  }
done

# ./dev run is `musterd --dev` in the current directory.
dir=$(mktemp -d)
cd "$dir"
: >out
setpriv --pdeathsig KILL "$programs/musterd" --dev --listen 127.0.0.1:0 >out 2>&1 &
server=$!
trap 'kill -s KILL $server 2>/dev/null || true; rm -rf "$dir"' EXIT
for _ in $(seq 100); do
  address=$(sed -n 's/.*gRPC on \([^ ]*\).*/\1/p' out)
  if [[ -n $address ]] && "$programs/muster" health --server "$address"; then break; fi
  sleep 0.2
done
"$programs/muster" health --server "$address"
[[ -d .muster ]]
kill "$server"
wait "$server"
