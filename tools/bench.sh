#!/usr/bin/env bash
# Builds the release preset and runs the benchmark: Belay beside plain hiredis, on a server that it
# starts and stops itself. About two minutes; --quick takes 15 seconds. Close other programs first.
#
# tools/bench.sh [--quick] [--rounds N] [--slice-ms N] [--server valkey-server] [--side NAME] [block...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { cmake --preset release && cmake --build --preset release --target belay_bench; } >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi

build/release/tests/bench/belay_bench "$@"
