#!/usr/bin/env bash
# Threads that mix everything on a few names of a real server which is well, while clients come and go: tools/hammer.sh SECONDS [SEED [THREADS]],
# so long on Redis and as long on Valkey. PRESET=asan or tsan takes a sanitized library.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?tools/hammer.sh SECONDS [SEED [THREADS]]}
seed=${2:-$(date +%s)}
threads=${3:-8}
preset=${PRESET:-release}
[[ $preset == release ]] || export BELAY_TEST_SCALE=${BELAY_TEST_SCALE:-4}

tools/install-deps.sh
tools/build.sh "$preset" chaos_hammer
for server in redis-server valkey-server; do
  "build/$preset/tests/chaos/chaos_hammer" "$server" "$seconds" "$seed" "$threads"
done
