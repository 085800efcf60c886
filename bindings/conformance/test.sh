#!/bin/sh
# test.sh PREFIX [AGENT...]: builds the agents (default: all) with the libbelay installed under PREFIX, and plays the scenarios
# with them on redis-server and valkey-server. Prints `N passed, N failed`; fails if anything failed or an agent is missing.
set -eu
prefix=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")"
if [ $# = 0 ]; then
  set -- c command go java lua
fi
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
for agent in "$@"; do
  "agents/$agent/build.sh" "$prefix" "$build" >"$build/log" 2>&1 || { cat "$build/log"; echo "agents/$agent does not build"; exit 1; }
done
python3 -B run.py "$build" "$@"
