#!/usr/bin/env bash
# Builds the release preset and runs the benchmark: Belay beside plain hiredis, on a server that it
# starts and stops itself. About two minutes; --quick takes 15 seconds. Close other programs first.
#
# tools/bench.sh [--quick] [--rounds N] [--slice-ms N] [--server valkey-server] [--side NAME] [block...]
# tools/bench.sh bindings [options] [block...]   Go, Java and Lua beside C, and nginx; needs what their tests need
# tools/bench.sh instructions                    what the metrics cost of a pair, counted by callgrind
# tools/bench.sh --peers [options] [block...]    these, and Redisson, redsync, redislock, rueidislock and redis-py
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

what=${1-}
if [[ $what == instructions ]]; then
  tools/build.sh release belay_bench
  exec tests/bench/instructions.py build/release/tests/bench/belay_bench build
fi
if [[ $what == bindings || $what == --peers ]]; then
  shift
else
  what=
fi
peers=()
tools/build.sh release belay_bench
if [[ -n $what ]]; then
  tools/build.sh release belay_bench_c belay belay_cli belay_static
  programs=$PWD/build/bench
  rm -rf "$programs"
  mkdir -p "$programs"
  log=build/bench.log
  if ! { cmake --install build/release --prefix build/prefix && bindings/bench/build.sh build/prefix "$programs" &&
    { [[ $what == bindings ]] || tests/bench/peers/build.sh "$programs"; }; } >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
  fi
  peers+=(--peer c=build/release/tests/bench/belay_bench_c)
  for side in go java lua luajit redisson redsync redislock rueidislock redis-py; do
    [[ ! -x $programs/$side ]] || peers+=(--peer "$side=$programs/$side")
  done
fi
build/release/tests/bench/belay_bench "${peers[@]}" "$@"
if [[ $what == bindings ]]; then
  bindings/bench/nginx.sh build/prefix
fi
