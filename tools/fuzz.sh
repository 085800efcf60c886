#!/usr/bin/env bash
# Fuzzes what strangers can feed us: tools/fuzz.sh SECONDS, for each target in turn (0: only the corpora kept in tests/fuzz/corpus).
# What is found stays in build/fuzz: inputs of interest in corpus/, those that crash in crashes/, logs beside them. Ends with a line
# `targets=N crashes=M`; a crash is shown with the command that repeats it.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: tools/fuzz.sh SECONDS}
targets=(options names server scripts sentinels cluster)
# A single allocation of this size, or all together of that, is a finding, as is an input that takes ten seconds.
limits=(-timeout=10 -malloc_limit_mb=64 -rss_limit_mb=2048 -max_len=2048)
here=build/fuzz
crashes=0

tools/install-deps.sh
tools/build.sh fuzz fuzz_targets
rm -rf "$here/crashes"
mkdir -p "$here/crashes"

# Prints the last count of runs and coverage of a log.
summary() { sed -n 's/^#\([0-9]*\).*cov: \([0-9]*\).*/\1 runs, \2 edges/p' "$1" | tail -n 1; }

for target in "${targets[@]}"; do
  binary=$here/tests/fuzz/fuzz_$target
  log=$here/$target.log
  args=("${limits[@]}" "-artifact_prefix=$here/crashes/$target-")
  if [ -f "tests/fuzz/$target.dict" ]; then args+=("-dict=tests/fuzz/$target.dict"); fi
  if [ "$seconds" -eq 0 ]; then args+=(-runs=0); else args+=("-max_total_time=$seconds"); fi
  mkdir -p "$here/corpus/$target"
  if "$binary" "${args[@]}" "$here/corpus/$target" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
    echo "$target: $(summary "$log")"
  else
    crashes=$((crashes + 1))
    grep -aE '^violated|runtime error|^SUMMARY' "$log" || tail -n 20 "$log"
    for input in "$here/crashes/$target-"*; do echo "$target: FAILED, again by: $binary $input"; done
  fi
done
echo "targets=${#targets[@]} crashes=$crashes"
[ "$crashes" -eq 0 ]
