#!/usr/bin/env python3
"""Executes the runbook of docs/operating.md: every sh block of that section, in order, as it stands.

Only places are put elsewhere: /etc, /var/lib, /var/backups, /opt and /usr/bin/musterd below a temporary
directory, the ports to free ones. Inside a system with the packages (--root) not even these: the caller
gives it a network of its own. What is upgraded to is musterd_next. `systemctl` is a stand-in that starts
and ends musterd as the unit of the document does.

usage: operating_test.py DIRECTORY_OF_PROGRAMS [--root SYSTEM]
"""
# Takes about 40 s: the runbook starts, upgrades, loses, replaces, moves and restores real servers one by one, and
# etcd changes its members only when they have been connected for five seconds.

import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 400

PRELUDE = """
set -euo pipefail
units=@TMP@/run
mkdir -p $units
# Only a child of this shell: the number of one that ended may be someone else's by now.
started() {
  [[ -f $units/$1 && $(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$(cat "$units/$1")/status" 2>&1) == "$$" ]]
}
end_unit() {
  started "$2" || return 0
  # It may end by itself at this moment, as it does after a move.
  kill -s "$1" "$(cat "$units/$2")" || ! started "$2"
  while started "$2"; do sleep 0.1; done
}
start_unit() {
  if started "$1"; then return; fi
  env -i PATH="$PATH" setpriv --pdeathsig KILL ${exec_start//%i/${1#musterd@}} \\
    >>"$units/$1.log" 2>&1 &
  echo $! >"$units/$1"
}
systemctl() {
  local action=$1 signal=TERM unit
  shift
  if [[ $action == kill ]]; then signal=$2; shift 2; fi
  for unit in "$@"; do
    case $action in
      start) start_unit "$unit" ;;
      stop) end_unit TERM "$unit" ;;
      kill) end_unit "$signal" "$unit" ;;
      reload) kill -s HUP "$(cat "$units/$unit")" ;;
      restart) end_unit TERM "$unit"; start_unit "$unit" ;;
      *) echo "systemctl $action is not known here" >&2; return 1 ;;
    esac
  done
}
end_all() { for each in "$units"/musterd@*; do [[ $each == *.log ]] || end_unit KILL "${each##*/}"; done; }
trap end_all EXIT
set -x
"""


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def script(text):
    runbook = text[text.index("## Runbook"):]
    unit = re.search(r"^```ini\n.*?^ExecStart=(.*?)$", runbook, re.M | re.S)[1]
    blocks = re.findall(r"^```sh\n(.*?)^```$", runbook, re.M | re.S)
    assert len(blocks) >= 9, "the runbook has lost its commands"
    for word in ("move --to", "restore", "backup", "server remove", "server transfer", "log repair",
                 "certs revoke", "--replace\nmuster certs crl"):
        assert any(word in block for block in blocks), word
    return f"exec_start='{unit}'\n{PRELUDE}" + "\n".join(blocks)


def put_elsewhere(code, directory):
    # 127.0.0.1:900$n in a loop and 127.0.0.1:9001 alone are the same ports, so the table is the
    # shell's: the last digit chooses.
    grpc, peer = free_ports(4), free_ports(4)
    for n in range(1, 5):
        code = code.replace(f":900{n}", f":{grpc[n - 1]}").replace(f":910{n}", f":{peer[n - 1]}")
    table = " ".join(map(str, grpc))
    code = code.replace(":900$n", ":${grpc_ports[$n]}")
    # Nothing in the runbook asks for the page: any port will do.
    code = re.sub(r":920(\$n|\d)", ":0", code)
    code = f"grpc_ports=(0 {table})\n" + code
    for place in ("/etc/muster", "/var/lib/muster", "/var/backups", "/opt/muster", "/usr/bin/musterd"):
        code = code.replace(place, f"{directory}{place}")
    return code


def install(programs, directory):
    """Puts this release into its place, unless a package did, and the next one where it comes from."""
    used, new = pathlib.Path(directory, "usr/bin"), pathlib.Path(directory, "opt/muster")
    new.mkdir(parents=True)
    shutil.copy(programs / "musterd_next", new / "musterd")
    if not used.exists():
        for place in ("usr/bin", "etc/muster", "var/lib/muster", "var/backups"):
            pathlib.Path(directory, place).mkdir(parents=True)
        for program in ("musterd", "muster", "muster-guardian"):
            shutil.copy(programs / program, used)


def run(command, code, path, units):
    """What it printed; ends this program with all that there is to read when the runbook fails."""
    with subprocess.Popen([*command, "bash", "-c", code], env={"PATH": path}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as shell:
        timer = threading.Timer(LIMIT_SECONDS, shell.kill)
        timer.start()
        output = shell.stdout.read()
        timer.cancel()
    print(output)
    if shell.returncode != 0:
        for log in sorted(units.glob("*.log")):
            print(f"---- {log.name}\n{log.read_text()[-4000:]}")
        sys.exit(f"the runbook failed with {shell.returncode}")
    return output


def main():
    programs = pathlib.Path(sys.argv[1]).resolve()
    code = script((ROOT / "docs" / "operating.md").read_text(encoding="utf-8"))
    standard = "/usr/bin:/bin:/usr/sbin:/sbin"
    if sys.argv[2:3] == ["--root"]:
        system = pathlib.Path(sys.argv[3]).resolve()
        install(programs, system)
        output = run(["chroot", system], code.replace("@TMP@", "/var/tmp/operating"), standard,
                     system / "var/tmp/operating/run")
    else:
        with tempfile.TemporaryDirectory(prefix="muster-operating-") as directory:
            install(programs, directory)
            code = put_elsewhere(code, directory).replace("@TMP@", directory)
            output = run([], code, f"{directory}/usr/bin:{standard}", pathlib.Path(directory, "run"))
    assert output.count("o1") >= 4, "the node must be there after restore and move"
    assert output.count('"command_level":4') == 3, "every server was upgraded"


main()
