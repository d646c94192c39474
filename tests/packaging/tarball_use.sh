#!/bin/sh
# shellcheck disable=SC2016  # What stands in single quotes is for the shell inside.
# Uses what the tarball holds, by nothing but a shell, coreutils, grep, tar and gzip, as a user who owns only one
# directory and on a machine that has only its own loopback.
#
# usage: tarball_use.sh TARBALL DIRECTORY CERTIFICATE LINES
# DIRECTORY is the user's; LINES are what docs/installing.md tells to do, of which the last starts a server;
# https://localhost:8443 shows CERTIFICATE.
set -eu
tarball=$1 home=$2 certificate=$3 lines=$4

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# wait_for WORDS COMMAND…: for at most 30 s.
wait_for() {
  words=$1
  shift
  for _ in $(seq 300); do
    if "$@"; then return; fi
    sleep 0.1
  done
  fail "$words: $(cat ./*.log)"
}
# Nobody may have waited for it yet.
is_gone() { ! grep -q '^State:[[:space:]]*[^Z]' "/proc/$1/status" 2>/dev/null; }
# loaded PID: the shared libraries that it has.
loaded() { grep -o '/.*\.so[.0-9]*$' "/proc/$1/maps" | sort -u; }
# has_own_libraries PID: all from the tarball, save glibc.
has_own_libraries() {
  loaded "$1" >libraries
  grep -qF "$place/lib/libstdc++.so" libraries || fail "this has other libraries: $(cat libraries)"
  ! grep -vF "$place/lib/" libraries |
    grep -vE '/(ld-linux[^/]*|lib(c|m|resolv|pthread|dl|rt|nss_[a-z]*))\.so\.[0-9]$' ||
    fail "libraries of the system are loaded"
}

cd "$home"
mkdir "a place"
cd "a place"
cp "$tarball" .
name=$(basename "$tarball" .tar.gz)
place=$PWD/$name

echo "   docs/installing.md, which ends with a server, and a client of it"
case $lines in
  *"
bin/musterd --dev"*) ;;
  *) fail "other lines are told: $lines" ;;
esac
(eval "${lines%bin/musterd*}exec bin/musterd${lines##*bin/musterd}") >server.log 2>&1 &
server=$!
wait_for "musterd does not start" grep -q 'gRPC on' server.log
has_own_libraries "$server"
healthy() { "$place/bin/muster" health >health.log 2>&1; }
wait_for "nobody leads" healthy
grep -q '^healthy: leader' health.log || fail "$(cat health.log)"
test -d "$place/.muster" || fail "the server keeps its state elsewhere"
kill "$server"
wait "$server" || fail "musterd ended badly: $(cat server.log)"

# It may be moved as a whole, and its programs may be called by links.
mv "$place" "moved there"
place="$PWD/moved there"
mkdir links
ln -s "$place/bin/muster" "$place/bin/musterd" links/
PATH=$PWD/links:$PATH
for file in LICENSE README.txt sbom.spdx.json licences/libstdc++6.txt share/man/man1/muster-run.1 \
  share/man/man8/musterd.8 share/bash-completion/completions/muster share/muster/musterd.yaml; do
  test -s "$place/$file" || fail "$file is missing"
done
for program in muster musterd; do
  version=$("$program" --version) || fail "$program does not run when called by a link"
  case $name in
    "muster-${version##* }-linux-"*) ;;
    *) fail "$program says it is $version" ;;
  esac
done

echo "   a command, with the system's own libraries and nothing of the loader's in its environment"
muster run --arbiter "file://$PWD/arbiter" --name once -- \
  sh -c 'env >environment; cat /proc/$$/maps >maps; echo "epoch $MUSTER_EPOCH"' >run.log 2>run.err ||
  fail "$(cat run.err)"
grep -qx 'epoch 1' run.log || fail "the command did not run: $(cat run.log run.err)"
grep -q '^MUSTER_EPOCH=1$' environment || fail "this is not the command's environment"
! grep '^LD_' environment || fail "the command inherits what is meant for the loader"
grep -q '/libc\.so\.6$' maps || fail "this is not what the command has loaded"
! grep -F "$place" maps || fail "the command has libraries of the tarball"

echo "   a command whose muster is killed"
muster run --arbiter "file://$PWD/arbiter" --name guarded -- sh -c 'echo $$ >pid.new; mv pid.new pid; exec sleep 600' \
  >guarded.log 2>&1 &
runner=$!
wait_for "the guarded command does not start" test -s pid
command=$(cat pid)
guardian=$(grep '^PPid:' "/proc/$command/status" | grep -o '[0-9]*')
program=$(readlink "/proc/$guardian/exe")
test "$program" = "$place/libexec/muster/muster-guardian" || fail "the guardian is $program"
has_own_libraries "$runner"
has_own_libraries "$guardian"
! is_gone "$command" || fail "the guarded command ended by itself"
kill -9 "$runner"
wait_for "the command outlives its muster" is_gone "$command"

echo "   TLS with an authority that is named, and not with another one"
muster certs init --dir pki >/dev/null
muster certs init --dir other >/dev/null
muster certs issue --dir pki --role server --id s1 --san 127.0.0.1 >/dev/null
muster certs issue --dir pki --role admin --id op >/dev/null
mkdir secure
musterd --id s1 --engine "file://$PWD/secure/store" --data-dir secure/data --cert pki/s1.crt --key pki/s1.key \
  --cacert pki/ca.crt >secure.log 2>&1 &
server=$!
wait_for "musterd does not start with certificates" grep -q 'gRPC on' secure.log
ask() { muster health --cacert "$1" --cert pki/op.crt --key pki/op.key >secure.err 2>&1; }
wait_for "no answer over TLS" ask pki/ca.crt
! ask other/ca.crt || fail "a server of another authority is believed"
grep -q 'which other/ca.crt does not hold' secure.err || fail "$(cat secure.err)"
kill "$server"
wait "$server" || fail "musterd ended badly: $(cat secure.log)"

# probe ADDRESS WORDS [NAME=VALUE]: what answers there is no bucket, which it is to be told in these words.
probe() {
  ! env AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret ${3:+"$3"} muster probe --arbiter \
    "s3://bucket/prefix?endpoint=https://localhost:8443&region=r&style=path$1" >probe.log 2>&1 ||
    fail "the probe found a bucket where there is none"
  grep -q "$2" probe.log || fail "$(cat probe.log)"
}
probe "&ca-file=$certificate" 'answered without an ETag'
probe "" 'answered without an ETag' "AWS_CA_BUNDLE=$certificate"
probe "&ca-file=$PWD/pki/ca.crt" 'certificate verify failed'
