#!/usr/bin/env bash
# Installs the npm tarball into an empty directory, and uses it with a store and a server, without any library of
# this machine.
#
# usage: npm_test.sh TARBALL DIRECTORY_OF_PROGRAMS
set -euo pipefail
tarball=$(readlink -f "$1")
programs=$(readlink -f "$2")
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-npm-test-XXXXXX")
server=
trap '[[ -z $server ]] || kill "$server"; wait; rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

cd "$work"
echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts "$tarball" </dev/null >install.log 2>&1 || {
  cat install.log >&2
  fail "npm does not install it"
}
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$programs/musterd" --dev --listen "127.0.0.1:$port" --http-listen off --data-dir "$work/data" >server.log 2>&1 &
server=$!
cat >use.mjs <<'END'
import assert from 'node:assert/strict';
import fs from 'node:fs';
import * as muster from 'muster';

const [store, server] = process.argv.slice(2);
for (const address of [store, `muster://${server}/app`, `grpc://${server}/other`]) {
  await muster.lead(address, 'report', (term) => assert(term.valid && term.token === 1), {timeout: 30000});
  await muster.lock(address, 'm', (lock) => assert(lock.valid), {timeout: 30000});
}
const cluster = new muster.Cluster(server);
const membership = await cluster.register({id: 'n1', address: '127.0.0.1', port: 7000}, {timeout: 30000});
const directory = await cluster.follow({timeout: 30000});
assert.deepEqual(directory.owners('key').map(({id}) => id), ['n1']);
await directory.close();
await membership.close();
cluster.close();
const loaded = fs.readFileSync('/proc/self/maps', 'utf8').split('\n').map((line) => line.split(' ').at(-1));
const ours = loaded.filter((path) => path.includes('/node_modules/muster/native/'));
assert(ours.some((path) => path.includes('libmuster')) && ours.some((path) => path.includes('protobuf')), ours.join());
assert(loaded.every((path) => !path.includes('libmuster') || ours.includes(path)));
END
env -i PATH=/usr/bin:/bin HOME="$work" "$(command -v node)" use.mjs "file://$work/store" "127.0.0.1:$port" ||
  fail "it cannot be used"
[[ -f node_modules/muster/index.d.ts ]] || fail "the types are not in it"
[[ -f node_modules/muster/proto/muster/v1/coordinator.proto ]] || fail "the contract is not in it"
licences=(node_modules/muster/licenses/lib*.txt)
((${#licences[@]} > 3)) || fail "it lacks licences: ${licences[*]}"
echo "the npm tarball is fine"
