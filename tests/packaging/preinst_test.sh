#!/usr/bin/env bash
# shellcheck disable=SC2016  # What stands in single quotes is for the shell inside.
# The scripts of the package musterd run as root beside a directory that belongs to the service: whatever lies
# there leads them nowhere. They are run in a mount namespace of their own, on empty directories.
set -euo pipefail
scripts=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../packaging/debian/musterd
# Root needs no user namespace, and gets none in a chroot.
namespace=(unshare --mount)
((EUID == 0)) || namespace+=(--map-root-user)
"${namespace[@]}" true 2>/dev/null || {
  echo "SKIPPED: no mount namespace can be made here"
  exit 77
}
"${namespace[@]}" sh -euc '
  fail() { echo "FAILED: $*" >&2; exit 1; }
  mount -t tmpfs tmpfs /var/lib
  mount -t tmpfs tmpfs /etc/systemd
  mkdir /var/lib/muster
  echo precious >/var/lib/victim
  # Whatever name the script may use, the service has put a link there before.
  for name in .masked-etcd masked-etcd etcd.service etcd.service.masked-by-musterd; do
    ln -s /var/lib/victim "/var/lib/muster/$name"
  done
  sh "$0/preinst" install
  test "$(cat /var/lib/victim)" = precious || fail "preinst has written through a link of the service"
  test "$(readlink /etc/systemd/system/etcd.service)" = /dev/null || fail "etcd.service is not masked"
  sh "$0/postrm" purge
  test ! -L /etc/systemd/system/etcd.service || fail "the mask outlives the package"
  test -z "$(ls -A /etc/systemd/system)" || fail "something is left: $(ls -A /etc/systemd/system)"
  test "$(cat /var/lib/victim)" = precious || fail "postrm has written through a link of the service"
  # A mask of the operator, who made it before, is not ours to lift.
  ln -s /dev/null /etc/systemd/system/etcd.service
  sh "$0/preinst" install
  sh "$0/postrm" purge
  test -L /etc/systemd/system/etcd.service || fail "the mask of an operator was lifted"
' "$scripts"
