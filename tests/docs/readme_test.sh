#!/usr/bin/env bash
# Compiles README's C example as it stands and runs it, and the programs of examples/, against a private server.
# Usage: readme_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1
build=$2

here=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$here"' EXIT
redis-server --port 0 --unixsocket "$here/redis.sock" --save '' --dir "$here" >"$here/redis.log" 2>&1 &
until redis-cli -s "$here/redis.sock" ping >/dev/null 2>&1; do sleep 0.05; done
export BELAY_URL="unix://$here/redis.sock"

passed=0
failed=0
expect() { # WHAT PATTERN COMMAND...
  local what=$1 pattern=$2
  shift 2
  if timeout 60 "$@" >"$here/out" 2>&1 && grep -q "$pattern" "$here/out"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$what failed:"
    cat "$here/out"
  fi
}

awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$source/README.md" >"$here/example.c"
lines=$(grep -c . "$here/example.c")
if [ "$lines" -gt 16 ]; then
  echo "README's example has grown to $lines lines"
  failed=1
fi
cc -std=c99 -Wall -Wextra -Werror -I"$source/include" "$here/example.c" -o "$here/example" -L"$build/lib" -lbelay -Wl,-rpath,"$build/lib"
expect "README's example" 'order 42 is ours, fence [0-9]' "$here/example"
expect "quickstart" 'charging order 42 under fence [0-9]' "$build/examples/example_quickstart"
expect "several_names" 'to account:9 under fence [0-9]' "$build/examples/example_several_names"
expect "event_loop" 'released' "$build/examples/example_event_loop"
expect "worker_pool" '12 of 12 jobs done' "$build/examples/example_worker_pool"
expect "leader_election" 'leading under fence [0-9]' "$build/examples/example_leader_election" 1
expect "read_write_lock" 'reading it again under fence [0-9]' "$build/examples/example_read_write_lock"
expect "semaphore" 'working with 2 of 8 units' "$build/examples/example_semaphore" 1
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
