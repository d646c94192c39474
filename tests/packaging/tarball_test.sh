#!/usr/bin/env bash
# shellcheck disable=SC2016  # What stands in single quotes is for the shell inside.
# Unpacks the tarball and uses it, as a user without rights: on this machine, and on a Debian of the next release
# that has nothing but glibc, a shell and a few tools.
#
# usage: tarball_test.sh TARBALL
# As root; makes a system below $TMPDIR and removes it.
set -euo pipefail
tarball=$(readlink -f "$1")
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-tarball-test-XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
chmod 755 "$work"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# use ROOT DIRECTORY: a user who owns only DIRECTORY of the system at ROOT uses the tarball there, with an empty
# environment. Own processes, mounts and network end with it.
use() {
  local user=65534
  mkdir "$1$2"
  cp "$tarball" "$here/tarball_use.sh" "$work/certificate" "$1$2/"
  chown -R "$user:$user" "$1$2"
  unshare --mount --pid --net --fork --kill-child sh -euc '
    root=$0 directory=$1 user=$2 tarball=$3 lines=$4 server=$5
    ip link set lo up
    mount -t proc proc "$root/proc"
    openssl s_server -accept 8443 -www -cert "$server/certificate" -key "$server/key" </dev/null >/dev/null 2>&1 &
    chroot --userspec="$user:$user" --groups= "$root/" env -i PATH=/usr/bin:/bin HOME=/nonexistent \
      sh "$directory/tarball_use.sh" "$directory/$tarball" "$directory" "$directory/certificate" "$lines"' \
    "$1" "$2" "$user" "${tarball##*/}" "$lines" "$work"
}

echo "== the tarball itself"
tar --list --verbose --numeric-owner --full-time --gzip --file "$tarball" >"$work/list"
[[ $(awk '{ print $2 }' "$work/list" | sort -u) == 0/0 ]] || fail "its files have owners"
[[ $(awk '{ print $4, $5 }' "$work/list" | sort -u | wc -l) == 1 ]] || fail "its files differ in age"
tar --list --gzip --file "$tarball" | tr / '\001' | LC_ALL=C sort --check || fail "its files have no order"
# No name and no time: RFC 1952, 2.3.
[[ $(od -An -tx1 -j3 -N5 "$tarball") == " 00 00 00 00 00" ]] || fail "gzip has noted when it was made"
lines=$(sed -n '/^## Tarball$/,/^## /{/^```bash$/,/^```$/{/^```/!p}}' "$here/../../docs/installing.md")
openssl req -x509 -newkey rsa:2048 -noenc -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
  -keyout "$work/key" -out "$work/certificate" 2>"$work/openssl.log" || fail "$(cat "$work/openssl.log")"

echo "== unpacked on this machine"
use "" "$work/home"

# shellcheck source=/dev/null
. /etc/os-release
# What is built on the newest release is used on it only: no later one stays as it is.
declare -A next=([bookworm]=trixie)
release=${next[$VERSION_CODENAME]:-$VERSION_CODENAME}
echo "== unpacked on a Debian with nothing in it ($release)"
mapfile -t sources < <(find /etc/apt -name '*.sources' -o -name 'sources.list' -size +0 | sort)
for each in "${!sources[@]}"; do
  sed "s/\b$VERSION_CODENAME\b/$release/g" "${sources[each]}" >"$work/${sources[each]##*/}"
  sources[each]=$work/${sources[each]##*/}
done
mmdebstrap --quiet --variant=extract --include=libc6,dash,coreutils,grep,tar,gzip \
  --setup-hook='cd "$1" && mkdir -p usr/bin usr/lib usr/lib64 usr/sbin && ln -s usr/bin usr/lib usr/lib64 usr/sbin .' \
  "$release" "$work/root" "${sources[@]}"
mkdir -p "$work/root/proc"
echo "127.0.0.1 localhost" >"$work/root/etc/hosts"
use "$work/root" /home
echo "ok"
