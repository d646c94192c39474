#!/bin/bash
# Three etcd members, each in a network namespace of its own, so that they can be partitioned for
# real. A member has two cables: one to its peers, one to its clients; only the first is ever cut.
#   etcd_netns.sh serve DIR ID
# ID (up to 8 hex digits) makes the names of this cluster's namespaces and bridges its own.
# Says "ready URL URL URL" on stdout and then does what stdin says, a line each, answered by a line:
#   leader      the number of the member that leads, once all agree
#   cut N       member N hears its peers no more
#   join N      it hears them again
# At the end of stdin everything is undone: members, namespaces, bridges, DIR.
# Needs root. Debian packages: etcd-server etcd-client iproute2.
set -euo pipefail
[[ ${1:-} == serve ]] || { sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 64; }
dir=${2:?DIR}; id=${3:?ID}
members=(0 1 2)
peers=mp$id; clients=mc$id      # The two bridges.
subnet=10.198.$((0x$id % 250 + 1))  # The host has an address in the clients' network, and only there.
namespace() { echo "muster-$id-$1"; }
client_url() { echo "http://$subnet.$((11 + $1)):2379"; }
peer_url() { echo "http://10.199.0.$((11 + $1)):2380"; }

undo() {
  local n
  for n in "${members[@]}"; do
    [[ ! -s $dir/$n.pid ]] || kill -KILL "$(<"$dir/$n.pid")" 2>/dev/null || true
    ip link del "$peers$n" 2>/dev/null || true
    ip link del "$clients$n" 2>/dev/null || true
    ip netns del "$(namespace "$n")" 2>/dev/null || true
  done
  ip link del "$peers" 2>/dev/null || true
  ip link del "$clients" 2>/dev/null || true
  rm -rf "$dir"
}

plug() {  # CABLE BRIDGE NAMESPACE DEVICE ADDRESS
  ip link add "$1" type veth peer name "$4" netns "$3"
  ip link set "$1" master "$2" up
  ip -n "$3" addr add "$5/24" dev "$4"
  ip -n "$3" link set "$4" up
}

start_member() {
  local n=$1 ns cluster="" m
  ns=$(namespace "$n")
  for m in "${members[@]}"; do cluster+="${cluster:+,}m$m=$(peer_url "$m")"; done
  ip netns add "$ns"
  ip -n "$ns" link set lo up
  plug "$peers$n" "$peers" "$ns" peer "10.199.0.$((11 + n))"
  plug "$clients$n" "$clients" "$ns" client "$subnet.$((11 + n))"
  setsid ip netns exec "$ns" etcd --name "m$n" --data-dir "$dir/m$n" \
    --listen-client-urls "$(client_url "$n")" --advertise-client-urls "$(client_url "$n")" \
    --listen-peer-urls "$(peer_url "$n")" --initial-advertise-peer-urls "$(peer_url "$n")" \
    --initial-cluster "$cluster" --heartbeat-interval 50 --election-timeout 500 --pre-vote \
    </dev/null >"$dir/m$n.out" 2>&1 &
  echo $! >"$dir/$n.pid"
  disown
}

# The member that every member takes for the leader.
leader() {
  local attempt n status leader_id
  for ((attempt = 0; attempt < 200; ++attempt)); do
    status=""
    for n in "${members[@]}"; do
      status+=$(ETCDCTL_API=3 etcdctl --endpoints "$(client_url "$n")" --dial-timeout 1s \
        --command-timeout 1s endpoint status -w fields 2>/dev/null |
        awk -v n="$n" '/"MemberID"/ { id = $3 } /"Leader"/ { print n, id, $3 }' || true)$'\n'
    done
    leader_id=$(awk 'NF == 3 { print $3 }' <<<"$status" | sort -u)
    if [[ $(grep -c . <<<"$status") == 3 && $leader_id =~ ^[1-9][0-9]*$ ]]; then
      awk -v id="$leader_id" '$2 == id { print $1 }' <<<"$status"
      return 0
    fi
    sleep 0.1
  done
  echo "etcd_netns.sh: the members found no leader in 20 s" >&2
  tail -n 3 "$dir"/*.out >&2
  return 1
}

for program in etcd etcdctl ip; do
  command -v "$program" >/dev/null || { echo "etcd_netns.sh: $program is missing" >&2; exit 1; }
done
mkdir -p "$dir"
trap undo EXIT
ip link add "$peers" type bridge
ip link set "$peers" up
ip link add "$clients" type bridge
ip link set "$clients" up
ip addr add "$subnet.1/24" dev "$clients"
for n in "${members[@]}"; do start_member "$n"; done
leader >/dev/null
echo "ready $(client_url 0) $(client_url 1) $(client_url 2)"
while read -r order n; do
  case $order in
    leader) leader ;;
    cut) ip link set "$peers$n" nomaster && echo "$n is cut off" ;;
    join) ip link set "$peers$n" master "$peers" && echo "$n is back" ;;
    *) echo "unknown order $order" ;;
  esac
done
