#!/bin/bash
# Installs s3db.js for the mixed fleet, at exactly one version, into a directory of the build tree.
#   s3db_install.sh PREFIX VERSION
# First as it is. Where the registry lacks modules that its coordinator does not need, then with the
# stand-ins of tests/coordinator/s3db, and says so. Exits with 77 where it cannot be had at all.
set -euo pipefail
prefix=${1:?PREFIX}; version=${2:?VERSION}
here=$(cd "$(dirname "$0")" && pwd)
standins=$(cd "$here/../../tests/coordinator/s3db" && pwd)
replaced=(recker cli-args-parser tuiuiu.js)

command -v npm >/dev/null || { echo "s3db_install.sh: npm is missing: install npm" >&2; exit 77; }
mkdir -p "$prefix"
exec 8>"$prefix/.lock"
flock 8  # Two tests may want it at once.
if [[ ! -e $prefix/parts/installed ]]; then
  if refusal=$("$here/npm_install.sh" "$prefix/whole" s3db.js "$version" 2>&1 >/dev/null); then
    echo "$prefix/whole/node_modules"
    exit 0
  fi
  printf 's3db.js@%s cannot be installed as it is; npm said:\n%s\n' "$version" "$refusal" >&2
fi
echo "s3db.js@$version runs with stand-ins for ${replaced[*]}, which its coordinator does not use" >&2

mkdir -p "$prefix/parts"
cd "$prefix/parts"
# shellcheck disable=SC2016  # What stands in single quotes is for node.
# Its own package with other dependencies: some versions of npm take no folder in "overrides".
install_parts() {
  npm pack --silent "s3db.js@$version" && tar -xzf "s3db.js-$version.tgz" &&
    node -e '
      const [, standins, ...replaced] = process.argv;
      const fs = require("fs");
      const its = JSON.parse(fs.readFileSync("package/package.json"));
      for (const name of replaced) its.dependencies[name] = `file:${standins}/${name}`;
      delete its.devDependencies;
      fs.writeFileSync("package/package.json", JSON.stringify(its));' "$standins" "${replaced[@]}" &&
    echo '{"private": true, "dependencies": {"s3db.js": "file:./package"}}' >package.json &&
    npm install --install-links --no-audit --no-fund --ignore-scripts
}
if [[ ! -e installed ]]; then
  install_parts </dev/null >install.log 2>&1 || {
    tail -n 5 install.log >&2
    echo "s3db_install.sh: s3db.js@$version could not be installed; is the package registry reachable?" >&2
    exit 77
  }
  touch installed
fi
echo "$prefix/parts/node_modules"
