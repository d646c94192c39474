#!/usr/bin/env bash
# shellcheck disable=SC2016  # What stands in single quotes is for the shell inside.
# Upgrades the packages, takes them out, installs them by the line of README.md and takes them out again.
# There is no systemd to ask: a stand-in notes what it is asked and which programs are there at that moment,
# and leaves the links of `enable` and `disable` to the real one.
#
# usage: take_out_test.sh SYSTEM    (as root; the packages are installed there, and lie in its /var/tmp)
set -euo pipefail
system=$(readlink -f "$1")
readme=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../README.md
asked=$system/var/tmp/asked
wants=$system/etc/systemd/system/multi-user.target.wants

fail() {
  echo "FAILED: $*" >&2
  cat "$asked" >&2
  exit 1
}
inside() {
  chroot "$system" env DEBIAN_FRONTEND=noninteractive PATH=/var/tmp/stand-in:/usr/sbin:/usr/bin:/sbin:/bin \
    sh -euc "cd /var/tmp; ($1) </dev/null >out.log 2>&1 || { cat out.log; exit 1; }" "${@:2}"
}
links() { find "$wants" -name 'muster*' -printf '%f\n' | sort | tr '\n' ' '; }
gone() {
  [[ ! -e $system/usr/bin/musterd && ! -e $system/usr/bin/muster ]] || fail "programs are left behind"
}

mkdir -p "$system/var/tmp/stand-in" "$system/run/systemd/system"
cat >"$system/var/tmp/stand-in/systemctl" <<'END'
#!/bin/sh
case $1 in enable | disable) SYSTEMD_OFFLINE=1 exec /usr/bin/systemctl "$@" ;; esac
cd /
echo "$*:" $(ls usr/bin/muster usr/bin/musterd usr/libexec/muster/muster-guardian) >>/var/tmp/asked
END
chmod 755 "$system/var/tmp/stand-in/systemctl"
: >"$asked"

echo "== upgrade: nothing is stopped, and what was enabled stays so"
inside 'systemctl enable musterd muster-run@cron muster-run@billing'
enabled="muster-run@billing.service muster-run@cron.service musterd.service "
[[ $(links) == "$enabled" ]] || fail "enabled are $(links)"
inside 'dpkg --install --force-confold ./muster_*.deb ./musterd_*.deb'
[[ $(links) == "$enabled" ]] || fail "after an upgrade, enabled are $(links)"
grep -q '^daemon-reload:' "$asked" || fail "systemd does not know the new units"
! grep -q '^stop' "$asked" || fail "an upgrade has stopped a service"

echo "== upgrade: the settings are the operator's, who may have changed their mode or removed them"
settings=$system/etc/muster/musterd.yaml
chmod 0600 "$settings"
inside 'dpkg --install --force-confold ./musterd_*.deb'
[[ $(stat -c %a "$settings") == 600 ]] || fail "an upgrade gave $settings the mode $(stat -c %a "$settings")"
rm "$settings"
inside 'dpkg --install --force-confold ./musterd_*.deb'
[[ ! -e $settings ]] || fail "an upgrade brought back what was removed"

echo "== take out: services end while their programs are there, and leave no link"
inside 'apt-get purge -qq -y -o "DPkg::Path=$PATH" musterd muster'
gone
grep -q '^stop musterd\.service: .*usr/bin/musterd\b' "$asked" || fail "musterd was not stopped in time"
grep -q '^stop muster-run@\*\.service: usr/bin/muster .*/muster-guardian$' "$asked" ||
  fail "muster run was not stopped in time"
[[ -z $(links) ]] || fail "links lead nowhere: $(links)"
[[ ! -L $system/etc/systemd/system/etcd.service ]] || fail "etcd's service is still masked"
[[ -d $system/var/lib/muster/state ]] || fail "the state has gone with the package"

echo "== install by the line of README.md, and take out without a systemd"
rmdir "$system/run/systemd/system"
mkdir -p "$system/var/tmp/checkout/build/packages"
cp "$system"/var/tmp/*.deb "$system/var/tmp/checkout/build/packages/"
line=$(grep '^apt install ' "$readme")
# Anyone who types it is asked, and says yes.
inside 'cd checkout; yes | eval "$0"' "$line"
inside 'muster --version && musterd --version'
inside 'apt-get purge -qq -y -o "DPkg::Path=$PATH" musterd muster'
gone
