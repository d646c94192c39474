#!/usr/bin/env bash
# Installs the wheel with pip into a directory of its own, and uses it without any library of this machine.
#
# usage: wheel_test.sh WHEEL
set -euo pipefail
wheel=$(readlink -f "$1")
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-wheel-test-XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

python3 -m pip install --quiet --no-index --no-deps --no-compile --disable-pip-version-check \
  --root-user-action ignore --target "$work/site" "$wheel" || fail "pip does not install it"
cd "$work"
env -i PATH=/usr/bin:/bin HOME="$work" PYTHONPATH="$work/site" "$(command -v python3)" - <<'END' || fail "it cannot be used"
import os
import muster

with muster.lead(f"file://{os.getcwd()}/store", "report", timeout=30) as term:
    assert term.valid and term.token == 1
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
ours = [path for path in loaded if "/site/muster/lib/" in path]
names = [os.path.basename(path) for path in ours]
assert any(name.startswith("libmuster") for name in names) and any("protobuf" in name for name in names), names
elsewhere = [path for path in loaded if "libmuster" in path and path not in ours]
assert not elsewhere, elsewhere
END
[[ -f $work/site/muster/py.typed ]] || fail "the types are not in it"
licences=("$work"/site/muster-*.dist-info/licenses/lib*.txt)
((${#licences[@]} > 3)) || fail "it lacks licences: ${licences[*]}"
echo "the wheel is fine"
