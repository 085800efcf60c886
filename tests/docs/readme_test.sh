#!/usr/bin/env bash
# Runs the programs of examples/, which the C code of README and docs/c-api.md must repeat, README's lines for the shell, and the programs of
# docs/languages.md for the shell and in C, against private servers.
# Usage: readme_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1
build=$2

# Server and folder end with this script.
coproc "$source/tests/support/launch_server.py" redis-server
read -r redis _ socket <&"${COPROC[0]}"
here=${socket%/*}
export BELAY_URL="unix://$socket"
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true' EXIT

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

blocks() { # LANGUAGE FILE, whose blocks of code are printed
  awk -v start="^\`\`\`$1\$" '$0 ~ start { inside = 1; next } /^```$/ { inside = 0 } inside' "$2"
}
repeats() { # FILE EXAMPLE...
  blocks c "$source/$1" >"$here/shown.c"
  (cd "$source/examples" && cat "${@:2}") >"$here/run.c"
  expect "the C code of $1" 'are identical' diff -s "$here/shown.c" "$here/run.c"
}
repeats README.md quickstart.c
repeats docs/c-api.md quickstart.c several_names.c event_loop.c worker_pool.c leader_election.c observe.c
expect "quickstart" 'charging order 42 under fence [0-9]' "$build/examples/example_quickstart"
expect "several_names" 'to account:9 under fence [0-9]' "$build/examples/example_several_names"
expect "event_loop" 'released' "$build/examples/example_event_loop"
expect "worker_pool" '12 of 12 jobs done' "$build/examples/example_worker_pool"
expect "leader_election" 'leading under fence [0-9]' "$build/examples/example_leader_election" 1
expect "read_write_lock" 'reading it again under fence [0-9]' "$build/examples/example_read_write_lock"
expect "semaphore" 'working with 2 of 8 units' "$build/examples/example_semaphore" 1
expect "shared_order" 'order:17 reserves 4 and 9 under fences [0-9]' "$build/examples/example_shared_order" order:17 1
expect "latch" '3 of 3 have met' "$build/examples/example_latch"
expect "observe" 'connected to' "$build/examples/example_observe"
expect "observe" '^grants 1$' "$build/examples/example_observe"
expect "options" 'the server: OK' "$build/examples/example_options" watchdog_lease_ms=10000 label=docs
expect "fenced_write" 'order 42: paid' "$build/examples/example_fenced_write"

# The table of options in docs/c-api.md is what the program lists. The label's default is each program's name.
"$build/examples/example_options" | sed "s/ example_options / the program's name /" >"$here/options"
awk '/^##/ { inside = /^## Options$/ } inside && /^\|/ && ++line > 2' "$source/docs/c-api.md" >"$here/shown"
expect "the options of docs/c-api.md" 'are identical' diff -s "$here/shown" "$here/options"

# The server stands still until the write is in doubt.
redis-cli -s "$socket" del order:42 >/dev/null
BELAY_URL="$BELAY_URL?request_timeout_ms=300" "$build/examples/example_fenced_write" 3 >"$here/doubt" 2>&1 &
writer=$!
until_written() { # PATTERN
  while kill -0 "$writer" 2>/dev/null && ! grep -q "$1" "$here/doubt"; do sleep 0.05; done
}
until_written 'paying'
kill -STOP "$redis"
until_written 'in doubt for [0-9]'
kill -CONT "$redis"
wait "$writer" || true
expect "fenced_write in doubt" 'in doubt for [0-9]' cat "$here/doubt"
expect "fenced_write in doubt" 'order 42: paid' cat "$here/doubt"
expect "fenced_write in doubt" '^paid$' redis-cli -s "$socket" get order:42

# README's lines for the shell. `belay top` is live and must be ended; what is broken must be held.
mkdir "$here/shell"
cd "$here/shell"
ln -s "$build/tools/belay" belay
for script in report read train transfer; do
  printf '#!/bin/sh\necho done\n' >"$script.sh"
  chmod +x "$script.sh"
done
awk '/^## In the shell/ { section = 1 } /^```$/ { section = 0 } section && /^belay / { print }' "$source/README.md" >lines
PATH="$PWD:$PATH"
for _ in 1 2 3; do
  until belay latch down start >/dev/null 2>&1; do sleep 0.05; done
done &
while read -r line; do
  case $line in
    "belay top "*) line="timeout 1 ${line%%#*} || [ \$? -eq 124 ]" ;;
    "belay break "*)
      belay run nightly-report -- sh -c 'touch held; exec sleep 30' >/dev/null 2>&1 &
      until [ -e held ]; do sleep 0.05; done ;;
  esac
  expect "$line" '^ended$' bash -ec "$line
    echo ended"
done <lines
expect "README's lines for the shell" '^1[01]$' grep -c . lines

# The tests of the bindings run the programs in their languages.
for language in sh c; do
  expect "docs/languages.md in $language" '^5 passed, 0 failed$' "$source/tests/docs/languages_test.sh" "$language" "$build"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
