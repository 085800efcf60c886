#!/usr/bin/env bash
# From a bare machine to all tests: tools/test.sh [SUITE...]. Suites: unit script sim abi integration cli bench lint asan tsan. None named:
# all of them. Prints a line a suite and at the end `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.."

all=(unit script sim abi integration cli bench lint asan tsan)
suites=("${@:-${all[@]}}")
passed=0
failed=0

count() { # SUITE PASSED FAILED
  passed=$((passed + $2))
  failed=$((failed + $3))
  printf '%-12s %s passed, %s failed\n' "$1" "$2" "$3"
}

# Runs ctest's tests of one label in a preset. A suite that runs nothing has failed.
run_ctest() { # SUITE PRESET LABEL
  local log=build/$2/$1.log
  ctest --test-dir "build/$2" -L "$3" --output-on-failure --no-tests=error >"$log" 2>&1
  local status=$?
  local good bad
  good=$(grep -cE '^ *[0-9]+/[0-9]+ Test .* Passed' "$log")
  bad=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*(\*\*\*|Not Run)' "$log")
  if [ $status -ne 0 ] || [ "$good" -eq 0 ]; then
    cat "$log"
    [ "$bad" -gt 0 ] || bad=1
  fi
  count "$1" "$good" "$bad"
}

run_step() { # SUITE COMMAND...
  local suite=$1
  shift
  if "$@"; then count "$suite" 1 0; else count "$suite" 0 1; fi
}

tools/install-deps.sh || exit 1
for suite in "${suites[@]}"; do
  case $suite in
    lint) run_step lint tools/lint.sh ;;
    asan | tsan)
      if tools/build.sh "$suite"; then run_ctest "$suite" "$suite" '^(unit|integration)$'; else count "$suite" 0 1; fi ;;
    unit | script | sim | abi | integration | cli | bench)
      if tools/build.sh release; then run_ctest "$suite" release "^$suite\$"; else count "$suite" 0 1; fi ;;
    *)
      echo "unknown suite '$suite'; there are: ${all[*]}" >&2
      exit 64 ;;
  esac
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
