# shellcheck shell=bash
# ./dev fresh: a clone of what is committed on a Debian that has nothing installed, in a directory of this
# machine: does the README work there, do the tests pass?

fresh_suites=(bookworm trixie)

# fresh_root SUITE DIRECTORY: a minimal Debian from the mirror, with the settings of apt and the trusted
# certificates of this machine. With git, because anyone with a clone has it.
fresh_root() {
  local suite=$1 root=$2 list
  mkdir -p "$(dirname "$root")"
  list=$(mktemp)
  # The first entry of this machine's own list, for the suite that is asked for.
  awk -v suite="$suite" 'BEGIN { RS = ""; FS = "\n" }
    NR == 1 { for (i = 1; i <= NF; ++i) if ($i !~ /^#/) print ($i ~ /^Suites:/ ? "Suites: " suite : $i) }' \
    /etc/apt/sources.list.d/debian.sources >"$list"
  grep -q '^URIs:' "$list" ||
    die "the first entry of /etc/apt/sources.list.d/debian.sources names no mirror to make a Debian from"
  as_root rm -rf --one-file-system "$root"
  as_root mmdebstrap --quiet --variant=minbase --include=ca-certificates,git "$suite" "$root" "$list" || return
  as_root rm -f "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/0000*
  as_root install -m 644 "$list" "$root/etc/apt/sources.list.d/debian.sources" &&
    as_root cp -r /etc/apt/apt.conf.d "$root/etc/apt/" &&
    as_root cp -L /etc/resolv.conf /etc/hosts "$root/etc/" &&
    as_root cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" && rm -f "$list"
}

# fresh_run ROOT COMMAND: in the clone in there. Its processes and mounts end with the command.
fresh_run() {
  local root=$1 keep
  mapfile -t keep < <(env | grep -iE '^(https?_proxy|no_proxy|npm_config_[a-z]*)=' || true)
  # shellcheck disable=SC2016  # For the shell inside.
  as_root unshare --mount --pid --fork --kill-child bash -euc '
    root=$0
    mount --make-rslave /
    mount --bind "$root" "$root"   # Tests change how / propagates, which only a mount point can.
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/dev/shm"
    exec chroot "$root" "$@"' "$root" \
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt "${keep[@]}" \
    bash -c "cd /root/muster && $2"
}

# run_fresh [SUITE] [COMMAND…]: in a new one each time, which is removed unless the command fails.
run_fresh() {
  local suite=bookworm root
  if (($#)) && [[ " ${fresh_suites[*]} " == *" $1 "* ]]; then
    suite=$1
    shift
  fi
  (($#)) || set -- ./dev test
  root=$PWD/build/fresh/$suite
  git diff --quiet HEAD || say "note: only what is committed is tried"
  step "a new Debian ($suite) in build/fresh" fresh_root "$suite" "$root" || return
  # Root may clone another user's tree: nothing of it is executed by that.
  as_root git -c 'safe.directory=*' clone -q -u 'git -c safe.directory=* upload-pack' "$PWD" \
    "$root/root/muster" || return
  step "$* on $suite" fresh_run "$root" "${*@Q}" || return
  as_root rm -rf --one-file-system "$root"
}
