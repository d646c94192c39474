#!/bin/bash
# Installs one npm package for tests, at exactly one version, into a directory of the build tree.
#   npm_install.sh PREFIX NAME VERSION
# Does nothing when it is there already. Its own install scripts are not run.
set -euo pipefail
prefix=${1:?PREFIX}; name=${2:?NAME}; version=${3:?VERSION}
manifest=$prefix/node_modules/$name/package.json

command -v npm >/dev/null || { echo "npm_install.sh: npm is missing: install npm" >&2; exit 1; }
mkdir -p "$prefix"
exec 9>"$prefix/.lock"
flock 9  # Two tests may want it at once.
if [[ -e $manifest ]] && grep -q "\"version\": *\"$version\"" "$manifest"; then exit 0; fi
npm install --prefix "$prefix" --no-audit --no-fund --ignore-scripts --save-exact \
  "$name@$version" </dev/null >"$prefix/install.log" 2>&1 || {
  tail -n 5 "$prefix/install.log" >&2
  echo "npm_install.sh: $name@$version could not be installed; is the package registry reachable?" >&2
  exit 1
}
