#!/usr/bin/env bash
# Builds a preset (release, debug, asan, tsan, fuzz), all of it or the targets named: tools/build.sh PRESET [TARGET...]. Says something only
# where something fails.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ! -f "build/$preset/build.ninja" ] && ! cmake --preset "$preset" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
if ! cmake --build --preset "$preset" ${1:+--target "$@"} >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
