#!/usr/bin/env bash
# From a bare machine to all tests: tools/test.sh [SUITE...]. Suites: unit script sim abi integration hostile oldest host lifetime chaos cli sql docs
# bench lint asan tsan fuzz debian13. None named: all of them. Beside these, valgrind, which takes a quarter of an hour. Prints a line a suite and at the end
# `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

all=(unit script sim abi integration hostile oldest host lifetime chaos cli sql docs bench lint asan tsan fuzz debian13)
suites=("${@:-${all[@]}}")
passed=0
failed=0

count() { # SUITE PASSED FAILED
  passed=$((passed + $2))
  failed=$((failed + $3))
  printf '%-12s %s passed, %s failed\n' "$1" "$2" "$3"
}

# Runs ctest's tests of one label in a preset.
run_tests() { # SUITE PRESET LABEL JOBS
  ctest --test-dir "build/$2" -L "$3" -j "$4" --verbose --no-tests=error >"build/$2/$1.log" 2>&1
  echo $? >"build/$2/$1.status"
}

# Adds up what they have printed of themselves: GoogleTest's, unittest's, Go's and plain `N passed, N failed` lines, or one a test that
# prints none. A suite that runs nothing has failed, and so has whatever was skipped.
count_tests() { # SUITE PRESET
  local log=build/$2/$1.log status good bad
  status=$(cat "build/$2/$1.status")
  read -r good bad < <(awk '
    { id = match($0, /^[0-9]+: /) ? substr($0, 1, RLENGTH - 2) : "" }
    /\[  PASSED  \] [0-9]+ test/ { good += $5; own[id] = 1 }
    /\[  (FAILED|SKIPPED) .*\] [0-9]+ test.*listed below/ { bad += $5; own[id] = 1 }
    /: --- PASS: / { ++good; own[id] = 1 }
    /: --- FAIL: / { ++bad; own[id] = 1 }
    /: Ran [0-9]+ tests? in / { ran = $3; good += ran; own[id] = 1 }
    /: FAILED \(|: OK \(/ { n = split($0, part, /[(,)]/)
      for (i = 2; i <= n; ++i) if (split(part[i], word, "=") == 2) { good -= word[2]; bad += word[2] } }
    / [0-9]+ passed, [0-9]+ failed *$/ { good += $(NF - 3); bad += $(NF - 1); own[id] = 1 }
    /^ *[0-9]+\/[0-9]+ Test .*/ { match($0, /#[0-9]+/)
      if (!own[substr($0, RSTART + 1, RLENGTH - 1)]) { if (/ Passed /) ++good; else ++bad } }
    END { print good + 0, bad + 0 }' "$log")
  if [ "$status" -ne 0 ] || [ "$good" -eq 0 ] || [ "$bad" -gt 0 ]; then
    cat "$log"
    [ "$bad" -gt 0 ] || bad=1
  fi
  count "$1" "$good" "$bad"
}

run_ctest() { # SUITE PRESET LABEL JOBS
  run_tests "$@"
  count_tests "$1" "$2"
}

# Both at a time, if both were asked for: they wait more than they work.
run_sanitizers() {
  local suite built=()
  for suite in asan tsan; do
    if [[ " ${suites[*]} " != *" $suite "* ]]; then continue; fi
    if tools/build.sh "$suite" unit_test integration chaos_worker chaos_hammer sim; then built+=("$suite"); else count "$suite" 0 1; fi
  done
  # Very many holds take a sanitized client minutes, so that their leases end: a tenth of them do as well here.
  for suite in "${built[@]}"; do BELAY_TEST_HOLDS=2000 run_tests "$suite" "$suite" '^(unit|integration|chaos|sim_short)$' 1 & done
  wait
  for suite in "${built[@]}"; do count_tests "$suite" "$suite"; done
}

run_step() { # SUITE COMMAND...
  local suite=$1
  shift
  if "$@"; then count "$suite" 1 0; else count "$suite" 0 1; fi
}

# Counts as failed what memcheck finds. That some tests fail in it says nothing: a grant lease may be over before the slow client comes to it. Leaks
# are the address sanitizer's, which knows what a failed or forked process may leave.
run_valgrind() {
  local found=build/release/memcheck
  rm -rf "$found" && mkdir "$found"
  BELAY_TEST_SCALE=4 valgrind -q --child-silent-after-fork=no "--log-file=$found/%p" build/release/tests/integration/integration redis-server
  find "$found" -size +0 -exec cat {} + | tee "$found.log"
  [ ! -s "$found.log" ]
}

# What depends on the system: README's commands, from a bare Debian 13 on, with its compiler and its servers.
run_debian13() {
  local log=build/debian-13.suite.log good=0 bad=0 status=0
  mkdir -p build
  tools/on-debian.sh 13 bash -c 'tools/demo.sh && tools/test.sh unit script integration cli' >"$log" 2>&1 || status=$?
  read -r good bad < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log" | tail -n 1)
  if [ "$status" -ne 0 ] || [ "${good:-0}" -eq 0 ]; then
    cat "$log"
    [ "${bad:-0}" -gt 0 ] || bad=1
  fi
  count debian13 "${good:-0}" "$bad"
}

# The tests fork while threads run: what the thread sanitizer cannot follow there it must not end.
export TSAN_OPTIONS="die_after_fork=0 ${TSAN_OPTIONS:-}"

tools/install-deps.sh || exit 1
for suite in "${suites[@]}"; do
  case $suite in
    lint) run_step lint tools/lint.sh ;;
    fuzz) run_step fuzz tools/fuzz.sh 20 ;;
    asan | tsan)
      if [ -z "${sanitized:-}" ]; then sanitized=1 && run_sanitizers; fi ;;
    integration | cli) # they wait more than they work, each on one server: both at a time
      if tools/build.sh release; then run_ctest "$suite" release "^$suite\$" 2; else count "$suite" 0 1; fi ;;
    unit | script | sim | abi | hostile | oldest | host | lifetime | chaos | sql | docs | bench)
      if tools/build.sh release; then run_ctest "$suite" release "^$suite\$" 1; else count "$suite" 0 1; fi ;;
    debian13) run_debian13 ;;
    valgrind)
      if tools/build.sh release integration; then run_step valgrind run_valgrind; else count valgrind 0 1; fi ;;
    *)
      echo "unknown suite '$suite'; there are: ${all[*]} valgrind" >&2
      exit 64 ;;
  esac
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
