#!/usr/bin/env bash
# test.sh PREFIX [LUA...]: builds the rock with the libbelay installed under PREFIX and runs the specs with each version of Lua (default:
# lua5.4 lua5.3 lua5.1 luajit). Prints `N passed, N failed`. BELAY_LEAK_CYCLES: how many cycles the test of leaks runs.
set -euo pipefail
prefix=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")"
versions=("$@")
if [ ${#versions[@]} = 0 ]; then
  versions=(lua5.4 lua5.3 lua5.1 luajit)
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# Counts a check by the status of a command.
check() {
  if "${@:2}" >"$work/output" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED $1"
    cat "$work/output"
  fi
}

# Runs the specs with one version, and counts them.
specs() {
  local lua=$1
  (
    # shellcheck source=/dev/null
    . "$work/$lua/env"
    mkdir "$work/$lua/spec"
    # shellcheck disable=SC2046
    cc -std=gnu11 -Wall -Wextra -Werror -shared -fPIC -pthread $(pkg-config --cflags "$lua") spec/process.c -o "$work/$lua/spec/process.so"
    export LUA_CPATH="$work/$lua/spec/?.so;$LUA_CPATH"
    export BELAY_LUA=$lua
    if [ "$lua" = luajit ]; then
      export BELAY_NGINX=$work/nginx
    fi
    timeout 20m "$lua" /usr/bin/busted -o TAP spec || echo "exit $?"
  ) >"$work/output" 2>&1
  grep '^# [a-z0-9.]*: ' "$work/output" || true # what was measured
  local ok not_ok planned
  ok=$(grep -c '^ok ' "$work/output" || true)
  not_ok=$(grep -c '^not ok ' "$work/output" || true)
  planned=$(sed -n 's/^1\.\.//p' "$work/output")
  if [ "$not_ok" != 0 ] || [ "$ok" = 0 ] || [ "$planned" != $((ok + not_ok)) ]; then
    echo "FAILED $lua"
    grep -v '^ok ' "$work/output" || true
    failed=$((failed + (not_ok > 0 ? not_ok : 1)))
  fi
  passed=$((passed + ok))
}

check "luacheck" luacheck --quiet --no-color .
check "the generated files" python3 ../swig/generate.py lua --check
check "nginx with Lua" ./nginx.sh "$work/nginx"
for lua in "${versions[@]}"; do
  # luarocks gets what is in the tree: a download would fail here.
  http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 ./install.sh "$prefix" "$lua" "$work/$lua" >"$work/output" 2>&1 || { cat "$work/output"; exit 1; }
  specs "$lua"
done
if [ "${versions[0]}" = lua5.4 ]; then # which can close a variable
  check "the example of README" ../../tests/docs/quickstart_test.sh lua "$prefix" "$work/lua5.4"
  check "the programs of docs/languages.md" ../../tests/docs/languages_test.sh lua "$prefix" "$work/lua5.4"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
