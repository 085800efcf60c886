#!/usr/bin/env bash
# Real processes on real servers under faults drawn from a seed: tools/chaos.sh MINUTES [SEED [OPTION...]]. 0 minutes is one history, which
# is how to try a seed again. PRESET=asan or tsan takes sanitized workers. `-help` as an option lists the others.
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=${1:?tools/chaos.sh MINUTES [SEED [OPTION...]]}
seed=${2:-$(date +%s)}
preset=${PRESET:-release}
output=$PWD/build/$preset/tests/chaos

tools/install-deps.sh
tools/build.sh "$preset" chaos_worker
(cd tests/chaos && go build -o "$output/chaos" .)
exec "$output/chaos" -worker "$output/chaos_worker" -output "$output" -minutes "$minutes" -seed "$seed" "${@:3}"
