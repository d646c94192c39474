#!/usr/bin/env bash
# shellcheck disable=SC2016  # What stands in single quotes is for the shell inside.
# Installs the packages on a Debian that has nothing else, uses them there, follows the documents that
# people begin with and the Kubernetes manifest, builds a program with the library, and takes the packages
# out again.
#
# usage: chroot_test.sh DIRECTORY_OF_PACKAGES DIRECTORY_OF_PROGRAMS
# As root; makes a system below $TMPDIR and removes it. Of the programs only musterd_next is used: what
# the runbook upgrades to.
set -euo pipefail
packages=$(readlink -f "$1")
programs=$(readlink -f "$2")
tests=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/..
root=$(mktemp -d "${TMPDIR:-/tmp}/muster-chroot-XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# Own processes and mounts end with the command; the network is none but its own loopback.
inside() {
  unshare --mount --pid --net --fork --kill-child --mount-proc="$root/proc" \
    chroot "$root" sh -euc "ip link set lo up; $1"
}
# The same for a test that stays outside and sends its commands inside.
beside() {
  unshare --mount --pid --net --fork --kill-child --mount-proc \
    sh -euc 'ip link set lo up; mount -t proc proc "$0/proc"; exec python3 "$@"' "$root" "$@"
}

echo "== the unit's sandbox"
unit=$tests/../packaging/systemd/musterd.service
# Tenths of systemd's own scale of exposure, where 10 is a service without any.
systemd-analyze security --offline=true --no-pager --threshold=20 "$unit" >/dev/null ||
  fail "$unit leaves more open than it should"
# Five starts in ten seconds would otherwise be the last, also where the cause passes.
for each in "$unit" "${unit%musterd.service}muster-run@.service"; do
  grep -q '^StartLimitIntervalSec=0$' "$each" || fail "systemd gives up starting $each"
done

# shellcheck source=/dev/null
. /etc/os-release
mapfile -t sources < <(find /etc/apt -name '*.sources' -o -name 'sources.list' -size +0 | sort)
echo "== a new Debian ($VERSION_CODENAME)"
mmdebstrap --quiet --variant=apt --skip=cleanup/apt/lists --dpkgopt=force-unsafe-io \
  --include=iproute2,cron,systemd "$VERSION_CODENAME" "$root" "${sources[@]}"
cp "$packages"/*.deb "$root/var/tmp/"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"

echo "== install, by the line of docs/three-servers.md"
line=$(grep '^apt install ' "$tests/../docs/three-servers.md")
chroot "$root" sh -euc 'export DEBIAN_FRONTEND=noninteractive
  cd /var/tmp
  (eval "$0") </dev/null >apt.log 2>&1 || { cat apt.log; exit 1; }' "$line"
cp -a "$root/etc" "$root/var/tmp/etc"   # as installed, for the machines of docs/three-servers.md
inside 'test -x /usr/bin/etcd'   # recommended, hence installed
[[ $(readlink "$root/etc/systemd/system/etcd.service") == /dev/null ]] ||
  fail "the package of etcd could start a service of its own"
[[ $(stat -c %a "$root/etc/muster/musterd.yaml") == 640 ]] || fail "the settings can be read by all"
for file in usr/share/man/man1/muster-run.1 usr/share/man/man8/musterd.8 \
  usr/share/bash-completion/completions/muster usr/lib/systemd/system/musterd.service \
  usr/lib/systemd/system/muster-run@.service usr/libexec/muster/muster-guardian \
  usr/share/doc/muster/sbom.spdx.json usr/share/doc/musterd/sbom.spdx.json; do
  [[ -s $root/$file || -s $root/$file.gz ]] || fail "$file is missing"
done
python3 "$tests/packaging/manual_test.py" --root "$root" || fail "the manual page of musterd"
# Packages of a build for tests are not optimized, and cannot be hardened.
[[ $packages == *-dev ]] || python3 "$tests/packaging/hardening_test.py" "$root"/usr/bin/muster "$root"/usr/bin/musterd \
  "$root"/usr/libexec/muster/muster-guardian || fail "a program is not hardened"
grep -q '"nobody has read' "$packages/sbom.spdx.json" && fail "sbom.spdx.json lacks a licence"

echo "== the command"
inside 'test "$(muster run --arbiter file:///tmp/arbiter --name once -- sh -c "echo epoch \$MUSTER_EPOCH")" = "epoch 1"'

echo "== the server, as its unit starts it, and its page"
inside 'setpriv --reuid=muster --regid=muster --clear-groups musterd --config /etc/muster/musterd.yaml >/tmp/musterd.log 2>&1 &
  for _ in $(seq 100); do muster health >/dev/null 2>&1 && break; sleep 0.2; done
  muster health; muster node register o1 --type object --address 10.0.0.7 --port 7000; muster nodes | grep o1
  get() {
    bash -euc "exec 3<>/dev/tcp/127.0.0.1/9002
      printf \"GET %s HTTP/1.1\r\nHost: localhost:9002\r\nConnection: close\r\n\r\n\" /\$0 >&3; cat <&3" "$1"
  }
  get "" | grep "<title>Muster</title>"
  assets=$(get "" | grep -o "assets/[a-z.]*" | sort -u)
  test "$(echo "$assets" | wc -l)" -ge 3
  for asset in $assets; do
    get "$asset" | grep -a "^HTTP/1.1 200" >/dev/null
  done' || fail "$(cat "$root/tmp/musterd.log")"

echo "== a managed engine with the recommended etcd"
inside 'mkdir -p /tmp/m && chown muster /tmp/m
  setpriv --reuid=muster --regid=muster --clear-groups musterd --insecure --id s1 --engine managed \
    --data-dir /tmp/m --peers s1=127.0.0.1:9001 >/tmp/managed.log 2>&1 &
  for _ in $(seq 150); do muster health >/dev/null 2>&1 && break; sleep 0.2; done
  muster server list | grep s1' || fail "$(cat "$root/tmp/managed.log")"

# A program is built with nothing but the library's package and a compiler.
build_outside() {
  cp -r "$tests/packaging/outside" "$root/var/tmp/"
  chroot "$root" sh -euc 'export DEBIAN_FRONTEND=noninteractive
    apt-get install -qq -y --no-install-recommends /var/tmp/libmuster0_*.deb /var/tmp/libmuster-dev_*.deb cmake \
      ninja-build g++ pkg-config </dev/null'
  # Neither gRPC nor curl nor protobuf has headers there.
  inside 'STATIC=no /var/tmp/outside/build.sh /var/tmp/outside-build'
}

# At the same time, as they mostly wait; none sees another's network.
echo "== docs/{operating,three-servers,cron-on-s3}.md as they stand, the pods of the Kubernetes manifest, and a"
echo "   program that uses libmuster-dev"
declare -A started
start() {
  "${@:2}" >"$root/var/tmp/$1.log" 2>&1 &
  started[$1]=$!
}
start operating beside "$tests/server/operating_test.py" "$programs" --root "$root"
start three-servers beside "$tests/packaging/three_servers_test.py" --root "$root"
start cron-on-s3 beside "$tests/docs/cron_on_s3_test.py" --root "$root"
start kubernetes beside "$tests/packaging/pods_test.py" --root "$root"
start outside build_outside
failed=
for name in "${!started[@]}"; do
  wait "${started[$name]}" || { cat "$root/var/tmp/$name.log"; failed+=" $name"; }
done
[[ -z $failed ]] || fail "what is installed does not do as written:$failed"

"$tests/packaging/take_out_test.sh" "$root"
echo "ok"
