# shellcheck shell=bash
# Installs what is missing, and nothing when nothing is.

# missing_packages SET…: one name a line. dpkg is asked once, so that this costs milliseconds.
missing_packages() {
  local set name unless wanted=() installed
  while read -r set name unless; do
    [[ " $* " == *" $set "* ]] || continue
    if [[ -n $unless ]] && command -v "$unless" >/dev/null; then continue; fi
    wanted+=("$name")
  done < <(grep -v '^#' tools/dev/packages.txt)
  # dpkg-query fails as soon as one of the names is unknown to it, which is no error here.
  # shellcheck disable=SC2016  # The braces belong to dpkg-query, not to the shell.
  installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
  printf '%s\n' "${wanted[@]}" |
    awk -v have="$installed" 'BEGIN { n = split(have, line, "\n")
        for (i = 1; i <= n; i++) { split(line[i], f, " "); if (f[1] == "ii") ok[f[2]] = 1 } }
      !($1 in ok)'
}

as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# Installing a server must not start one: tests start their own, on their own ports. Debian asks
# /usr/sbin/policy-rc.d before it starts anything; a policy that is already there is kept.
policy=/usr/sbin/policy-rc.d
forbid_services() {
  [[ -e $policy ]] && return
  trap 'as_root rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null && as_root chmod 755 "$policy"
}

install_packages() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  as_root "${apt[@]}" update || return
  (forbid_services && as_root "${apt[@]}" install -y --no-install-recommends "$@") || return
  # The policy only forbids starting now; at the next boot an enabled unit would start after all.
  if [[ -d /run/systemd/system && " $* " == *" etcd-server "* ]]; then
    as_root systemctl disable etcd.service
  fi
}

# setup SET…: leaves at once when all is there.
setup() {
  local missing
  command -v dpkg-query >/dev/null ||
    die "this is not Debian: install what tools/dev/packages.txt lists, then run cmake --preset dev"
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  say "missing: ${missing[*]}"
  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    die "run this as root once, or install by hand: apt-get install ${missing[*]}"
  fi
  step "install ${#missing[@]} packages" install_packages "${missing[@]}"
}
