#!/bin/bash
# Installs what the page is tested with, exactly as package-lock.json says; its build needs none of it.
#   install.sh DIRECTORY
# Does nothing when DIRECTORY already holds just that. Install scripts of packages are not run.
set -euo pipefail
directory=${1:?DIRECTORY}
here=$(cd "$(dirname "$0")" && pwd)

command -v npm >/dev/null || { echo "install.sh: npm is missing: install npm" >&2; exit 1; }
mkdir -p "$directory"
exec 9>"$directory/.lock"
flock 9  # Builds of several presets may want it at once.
cd "$directory"
if cmp -s "$here/package-lock.json" installed; then exit 0; fi
rm -f installed
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" .
npm ci --no-audit --no-fund --ignore-scripts </dev/null >install.log 2>&1 || {
  tail -n 5 install.log >&2
  echo "install.sh: the packages could not be installed; is the package registry reachable?" >&2
  echo "install.sh: only tests need them; cmake -DMUSTER_TESTS=OFF -DMUSTER_BENCH=OFF builds without tests" >&2
  exit 1
}
cp package-lock.json installed
