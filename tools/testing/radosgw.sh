#!/bin/bash
# A real S3 for tests: Ceph's radosgw over one monitor and one OSD that keeps its data in memory.
#
#   radosgw.sh start   DIR S3_PORT MON_PORT   makes DIR, starts everything, makes the bucket
#   radosgw.sh serve   DIR S3_PORT MON_PORT   start; "ready" on stdout; at end of stdin, stop and
#                                             remove DIR: what its owner's death leaves behind is nothing
#   radosgw.sh gateway DIR S3_PORT            one more gateway on the same data, or one again after kill
#   radosgw.sh kill    DIR S3_PORT            that gateway dies at once (SIGKILL); the data stays
#   radosgw.sh hang    DIR S3_PORT            it keeps its connections and answers nothing (SIGSTOP)
#   radosgw.sh resume  DIR S3_PORT            it goes on
#   radosgw.sh stop    DIR                    ends everything; DIR stays, for its logs
#
# Loopback only, as root, without systemd. The caller chooses free ports: S3_PORT, MON_PORT and the
# twenty after it. Debian packages: ceph-mon ceph-osd radosgw curl.
# Environment: MUSTER_S3_BUCKET, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY name what start makes.
set -euo pipefail

usage() { sed -n '2,/^set /{/^# \{0,1\}/s///p}' "$0" >&2; exit 64; }
fail() { echo "radosgw.sh: $*" >&2; exit 1; }

command=${1:-}; dir=${2:-}
[[ -n $command && -n $dir ]] || usage
bucket=${MUSTER_S3_BUCKET:-muster}
access_key=${AWS_ACCESS_KEY_ID:-muster-test-key}
secret_key=${AWS_SECRET_ACCESS_KEY:-muster-test-secret}

# Every daemon is NAME with its process id in DIR/NAME.pid and its output in DIR/NAME.out.
launch() {
  local name=$1; shift
  setsid "$@" --setuser root --setgroup root </dev/null >"$dir/$name.out" 2>&1 &
  echo $! >"$dir/$name.pid"
  disown  # So that the shell does not report its end.
}
running() {
  local state
  state=$(awk '$1 == "State:" { print $2 }' "/proc/$(<"$dir/$1.pid")/status" 2>/dev/null) || return 1
  [[ -n $state && $state != Z ]]
}
end() {
  [[ -s $dir/$1.pid ]] || return 0
  kill -KILL "$(<"$dir/$1.pid")" 2>/dev/null || true
  while running "$1"; do sleep 0.02; done
  rm -f "$dir/$1.pid"
}
end_all() {
  local file
  for file in "$dir"/gateway-*.pid; do [[ ! -e $file ]] || end "$(basename "$file" .pid)"; done
  end osd
  end mon
}
signal_gateway() { kill "-$1" "$(<"$dir/gateway-$2.pid")"; }

configure() {
  local mon_port=$1 fsid=$2
  cat >"$dir/ceph.conf" <<CONF
[global]
fsid = $fsid
mon host = v2:127.0.0.1:$mon_port
public addr = 127.0.0.1
cluster addr = 127.0.0.1
# Without cephx only crc mode exists; a client that insists on "secure" waits for ever.
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
ms bind msgr1 = false
ms bind port min = $((mon_port + 1))
ms bind port max = $((mon_port + 20))
run dir = $dir
crash dir = $dir
keyring = $dir/keyring
admin socket = $dir/\$name.asok
log file = $dir/\$name.log
mon cluster log file = $dir/cluster.log
# One OSD holds the only copy, one placement group a pool: smallest and fastest.
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
[mon]
mon data = $dir/mon
mon data avail crit = 1
mon data avail warn = 1
paxos propose interval = 0.05
paxos min wait = 0.01
[osd]
osd data = $dir/osd
osd objectstore = memstore
memstore device bytes = 1073741824
osd class dir = $(dirname "$(find /usr/lib -name libcls_rgw.so -print -quit)")
[client]
rgw dns name = localhost
rgw override bucket index max shards = 1
rgw dynamic resharding = false
rgw run sync thread = false
rgw enable lc threads = false
rgw enable quota threads = false
rgw enable usage log = false
rgw thread pool size = 64
rgw gc max objs = 1
rgw lc max objs = 1
rgw num control oids = 1
rgw data log num shards = 1
rgw md log max shards = 1
rgw usage max shards = 1
rgw objexp hints num shards = 1
CONF
  : >"$dir/keyring"
}

start_gateway() {
  local port=$1 name=gateway-$1 attempt
  launch "$name" radosgw -f -n "client.rgw.$port" \
    --rgw_frontends="beast endpoint=127.0.0.1:$port tcp_nodelay=1"
  for ((attempt = 0; attempt < 600; ++attempt)); do
    running "$name" || fail "the gateway on port $port died; see $dir/$name.out"
    curl -s -o /dev/null --max-time 5 "http://127.0.0.1:$port/" && return 0
    sleep 0.05
  done
  fail "the gateway on port $port did not answer in 30 s"
}

make_bucket() {
  local code
  code=$(curl -s -o "$dir/bucket.out" -w '%{http_code}' --max-time 30 -X PUT \
    -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' --aws-sigv4 aws:amz:us-east-1:s3 \
    -u "$access_key:$secret_key" "http://127.0.0.1:$1/$bucket")
  [[ $code == 200 ]] || fail "the bucket was not made: HTTP $code"
}

start() {
  local s3_port=${1:?S3_PORT} mon_port=${2:?MON_PORT} fsid osd_uuid
  local program
  for program in ceph-mon ceph-osd radosgw radosgw-admin monmaptool curl; do
    command -v "$program" >/dev/null || fail "$program is missing: install ceph-mon ceph-osd radosgw curl"
  done
  [[ ! -e $dir/ceph.conf ]] || fail "$dir is in use"
  mkdir -p "$dir/osd"
  trap 'status=$?; ((status == 0)) || { tail -n 5 "$dir"/*.out "$dir"/*.log >&2; end_all; }' EXIT
  fsid=$(</proc/sys/kernel/random/uuid)
  osd_uuid=$(</proc/sys/kernel/random/uuid)
  configure "$mon_port" "$fsid"

  monmaptool --create --fsid "$fsid" --addv a "[v2:127.0.0.1:$mon_port]" "$dir/monmap" >/dev/null
  ceph-mon --mkfs -i a --monmap "$dir/monmap" --setuser root --setgroup root
  launch mon ceph-mon -f -i a
  timeout 60 ceph osd new "$osd_uuid" >/dev/null || fail "the monitor did not answer"
  ceph-osd -i 0 --mkfs --osd-uuid "$osd_uuid" --setuser root --setgroup root >"$dir/mkfs.out" 2>&1
  launch osd ceph-osd -f -i 0
  timeout 120 radosgw-admin user create --uid=muster --display-name=muster \
    --access-key="$access_key" --secret-key="$secret_key" >"$dir/user.out" 2>&1 ||
    fail "the user was not made"
  start_gateway "$s3_port"
  make_bucket "$s3_port"
}

[[ $command != start && $command != serve ]] || mkdir -p "$dir"
[[ -d $dir ]] || fail "$dir does not exist"
dir=$(cd "$dir" && pwd)
export CEPH_CONF=$dir/ceph.conf
case $command in
  start) start "${@:3}" ;;
  serve)
    start "${@:3}"
    echo ready
    cat >/dev/null
    end_all
    rm -rf "$dir"
    ;;
  gateway) start_gateway "${3:?S3_PORT}" ;;
  kill) end "gateway-${3:?S3_PORT}" ;;
  hang) signal_gateway STOP "${3:?S3_PORT}" ;;
  resume) signal_gateway CONT "${3:?S3_PORT}" ;;
  stop) end_all ;;
  *) usage ;;
esac
