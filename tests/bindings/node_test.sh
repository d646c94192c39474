#!/usr/bin/env bash
# Runs a test of the Node package with the packages of npm that it needs.
#
# usage: node_test.sh LIBMUSTER MUSTERD BUILD_DIRECTORY TEST
set -euo pipefail
export MUSTER_LIBRARY=$1 MUSTERD=$2
build=$3 test=$4
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
for package in "@grpc/grpc-js 1.14.7" "@grpc/proto-loader 0.8.1" "koffi 3.3.4" "typescript 5.9.3" \
  "@types/node 20.19.25"; do
  # shellcheck disable=SC2086  # Name and version.
  "$here/../../tools/testing/npm_install.sh" "$build/npm-node" $package
done
# `require('muster')` finds the package in the source tree.
mkdir -p "$build/npm-node/tree"
ln -sfn "$(readlink -f "$here/../../bindings/node")" "$build/npm-node/tree/muster"
export NODE_PATH=$build/npm-node/node_modules:$build/npm-node/tree
exec node --test --test-reporter spec "$here/$test"
