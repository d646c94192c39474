#!/usr/bin/env python3
"""Executes the runbook of docs/operating.md: every sh block of that section, in order, as it stands.

Only places are put elsewhere: /etc, /var/lib, /var/backups, /opt and /usr/bin/musterd below a temporary
directory, the ports to free ones. What is upgraded to is musterd_next. `systemctl` is a stand-in that starts and ends musterd as the unit of the document does.

usage: operating_test.py DIRECTORY_OF_PROGRAMS
"""

import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 400

PRELUDE = """
set -euo pipefail
units=@TMP@/run
mkdir -p $units /etc/muster /var/lib/muster /var/backups
# Only a child of this shell: the number of one that ended may be somebody else's by now.
started() { [[ -f $units/$1 && $(ps -o ppid= -p "$(cat "$units/$1")") -eq $$ ]]; }
end_unit() {
  started "$2" || return 0
  kill -s "$1" "$(cat "$units/$2")"
  while started "$2"; do sleep 0.1; done
}
start_unit() {
  if started "$1"; then return; fi
  env -u MUSTER_CERT -u MUSTER_KEY -u MUSTER_CACERT \\
    setpriv --pdeathsig KILL musterd --config "/etc/muster/${1#musterd@}.yaml" \\
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


def script(text, directory):
    runbook = text[text.index("## Runbook"):]
    blocks = re.findall(r"^```sh\n(.*?)^```$", runbook, re.M | re.S)
    assert len(blocks) >= 9, "the runbook has lost its commands"
    for word in ("move --to", "restore", "backup", "server remove", "server transfer", "log repair",
                 "certs revoke"):
        assert any(word in block for block in blocks), word
    code = PRELUDE + "\n".join(blocks)
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
    return code.replace("@TMP@", directory)


def install(programs, directory):
    """Puts this release into its place, and the next one where it is installed from."""
    used, new = pathlib.Path(directory, "usr/bin"), pathlib.Path(directory, "opt/muster")
    used.mkdir(parents=True)
    new.mkdir(parents=True)
    for program in ("musterd", "muster", "muster-guardian"):
        shutil.copy(programs / program, used)
    shutil.copy(programs / "musterd_next", new / "musterd")
    return used


def main():
    programs = pathlib.Path(sys.argv[1]).resolve()
    text = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="muster-operating-") as directory:
        code = script(text, directory)
        used = install(programs, directory)
        done = subprocess.run(["bash", "-c", code], timeout=LIMIT_SECONDS, check=False,
                              env={"PATH": f"{used}:/usr/bin:/bin:/usr/sbin:/sbin"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(done.stdout)
        if done.returncode != 0:
            for log in sorted(pathlib.Path(directory, "run").glob("*.log")):
                print(f"---- {log.name}\n{log.read_text()[-4000:]}")
            sys.exit(f"the runbook failed with {done.returncode}")
        assert done.stdout.count("o1") >= 4, "the node must be there after restore and move"
        assert done.stdout.count('"command_level":2') == 3, "every server was upgraded"


main()
