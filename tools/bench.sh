#!/usr/bin/env bash
# Builds the release preset and runs the benchmark: Belay beside plain hiredis, on a server that it
# starts and stops itself. About two minutes; --quick takes 15 seconds. Close other programs first.
#
# tools/bench.sh [--quick] [--rounds N] [--slice-ms N] [--server valkey-server] [--side NAME] [block...]
# tools/bench.sh instructions                    what the metrics cost of a pair, counted by callgrind
# tools/bench.sh bindings [options] [block...]   Go, Java and Lua beside C and the libraries in Go and Java: a pair, a handoff, 16 threads on
#                                                one name; then Java's calls by JMH, and nginx. Needs what the bindings' tests need
# tools/bench.sh --peers [--svg FILE] [options] [block...]   all sides, also redis-py, in one table; --svg draws it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

what=${1-}
if [[ $what == instructions ]]; then
  tools/build.sh release belay_bench
  exec tests/bench/instructions.py build/release/tests/bench/belay_bench build
fi
if [[ $what != bindings && $what != --peers ]]; then
  tools/build.sh release belay_bench
  exec build/release/tests/bench/belay_bench "$@"
fi
shift
arguments=()
svg=
while (($# > 0)); do
  if [[ $1 == --svg ]]; then
    svg=${2:?usage: --svg FILE}
    shift
  else
    arguments+=("$1")
  fi
  shift
done
sides=(go java lua luajit redisson redsync redislock rueidislock)
if [[ $what == --peers ]]; then
  sides+=(redis-py)
elif [[ " ${arguments[*]-} " != *" peers_"* ]]; then
  arguments+=(peers_pair peers_shared16 peers_handoff)
fi

tools/build.sh release belay_bench belay_bench_c belay belay_cli belay_static
programs=$PWD/build/bench
rm -rf "$programs"
mkdir -p "$programs"
log=build/bench.log
if ! { cmake --install build/release --prefix build/prefix && bindings/bench/build.sh build/prefix "$programs" &&
  tests/bench/peers/build.sh "$programs"; } >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
peers=(--peer c=build/release/tests/bench/belay_bench_c)
for side in "${sides[@]}"; do
  peers+=(--peer "$side=$programs/$side")
done
build/release/tests/bench/belay_bench "${peers[@]}" --table build/bench.table "${arguments[@]}"
if [[ -n $svg ]]; then
  tests/bench/plot.py build/bench.table "$svg"
fi
if [[ $what == bindings ]]; then
  quick=()
  [[ " ${arguments[*]-} " != *" --quick "* ]] || quick=(-f 1 -wi 1 -i 2)
  bindings/java/jmh.sh build/prefix "${quick[@]}"
  bindings/bench/nginx.sh build/prefix
fi
