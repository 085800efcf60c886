#!/usr/bin/env bash
# test.sh PREFIX [--all] [AGENT...]: builds the agents (default: every one) with the libbelay installed under PREFIX, and plays the
# scenarios with them on redis-server and valkey-server: a third of the pairs, or with --all each. Prints `N passed, N failed`; fails
# if anything failed or an agent is missing.
set -euo pipefail
prefix=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")"
options=()
if [ "${1:-}" = --all ]; then
  options=(--all)
  shift
fi
if [ $# = 0 ]; then
  set -- c command go java lua
fi
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
began=$SECONDS
builds=()
for agent in "$@"; do
  "agents/$agent/build.sh" "$prefix" "$build" >"$build/$agent.log" 2>&1 &
  builds+=("$!")
done
for agent in "$@"; do
  wait "${builds[0]}" || { cat "$build/$agent.log"; echo "agents/$agent does not build"; exit 1; }
  builds=("${builds[@]:1}")
done
echo "the agents took $((SECONDS - began)) s to build"
python3 -B run.py "${options[@]}" "$build" "$@"
