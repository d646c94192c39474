#!/bin/bash
# s3rver, an S3 look-alike that takes conditions and ignores them: the store that must be refused.
#   s3rver.sh serve PREFIX DIR PORT
# Installs it into PREFIX when needed, serves the bucket "muster" from DIR on loopback, says "ready"
# on stdout, and ends at the end of stdin. Its access key and secret key are both S3RVER.
set -euo pipefail
[[ ${1:-} == serve ]] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 64; }
prefix=${2:?PREFIX}; dir=${3:?DIR}; port=${4:?PORT}

"$(dirname "$0")/npm_install.sh" "$prefix" s3rver 3.7.1
mkdir -p "$dir"
setsid "$prefix/node_modules/.bin/s3rver" --directory "$dir" --address 127.0.0.1 --port "$port" \
  --silent --no-vhost-buckets --configure-bucket muster </dev/null >"$dir.out" 2>&1 &
pid=$!
trap 'kill -KILL "$pid" 2>/dev/null || true' EXIT
for ((attempt = 0; attempt < 300; ++attempt)); do
  kill -0 "$pid" 2>/dev/null || { tail -n 5 "$dir.out" >&2; exit 1; }
  if curl -s -o /dev/null --max-time 5 "http://127.0.0.1:$port/"; then
    echo ready
    cat >/dev/null
    exit 0
  fi
  sleep 0.1
done
echo "s3rver.sh: no answer in 30 s" >&2
exit 1
