#!/usr/bin/env bash
# From a bare machine to all tests: tools/test.sh [SUITE...]. Suites: unit script sim abi integration hostile oldest host lifetime chaos cli sql docs
# go java lua conformance bench lint asan tsan fuzz debian13. None named: all of them. Beside these, valgrind, which takes a quarter of an hour. Prints a line a suite and at the end
# `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

all=(unit script sim abi integration hostile oldest host lifetime chaos cli sql docs go java lua conformance bench lint asan tsan fuzz debian13)
suites=("${@:-${all[@]}}")
passed=0
failed=0

began=$SECONDS
count() { # SUITE PASSED FAILED
  passed=$((passed + $2))
  failed=$((failed + $3))
  printf '%-12s %s passed, %s failed (%d s)\n' "$1" "$2" "$3" $((SECONDS - began))
  began=$SECONDS
}

# Prints the whole log of a suite that failed, and keeps for the end the lines that say what failed, with what stands just before or below them.
show() { # SUITE LOG
  cat "$2"
  { echo "-- $1:" && grep -aE -B 4 '\[  FAILED  \]|: FAILED |^FAILED |--- FAIL|^(FAIL|ERROR)[: ]|\[ERROR\]|^not ok|WARNING: ThreadSan|ERROR: AddressSan' "$2" | tail -n 40
    grep -aE -A 8 'VIOLATION' "$2" | head -n 40; } >>build/failures
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
    show "$1" "$log"
    [ "$bad" -gt 0 ] || bad=1
  fi
  count "$1" "$good" "$bad"
}

# Builds what a suite runs, then runs it.
run_ctest() { # SUITE JOBS [TARGET...], no target: all
  if tools/build.sh release "${@:3}"; then
    run_tests "$1" release "^$1\$" "$2"
    count_tests "$1" release
  else
    count "$1" 0 1
  fi
}

# One after the other: two sanitizers at a time keep two processors so busy that leases end.
run_sanitizer() { # SUITE
  if ! tools/build.sh "$1" unit_test integration chaos_worker chaos_hammer sim; then
    count "$1" 0 1
    return
  fi
  # Very many holds take a sanitized client minutes, so that their leases end: a tenth of them do as well here.
  BELAY_TEST_HOLDS=2000 run_tests "$1" "$1" '^(unit|integration|chaos|sim_short)$' 1
  count_tests "$1" "$1"
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

# A command that counts its tests itself: the last line of what it prints is `N passed, N failed`, without the colours of tools.
run_counting() { # SUITE COMMAND...
  local log=build/$1.suite.log good=0 bad=0 status=0
  "${@:2}" >"$log" 2>&1 || status=$?
  read -r good bad < <(sed -n 's/\x1b\[[0-9;]*m//g; s/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log" | tail -n 1)
  if [ "$status" -ne 0 ] || [ "${good:-0}" -eq 0 ]; then
    show "$1" "$log"
    [ "${bad:-0}" -gt 0 ] || bad=1
  fi
  count "$1" "${good:-0}" "$bad"
}

# What users of the bindings have: a library that is installed, and nothing of the build.
run_binding() { # LANGUAGE, or conformance
  if tools/build.sh release && cmake --install build/release --prefix build/prefix >build/prefix.log; then
    run_counting "$1" "bindings/$1/test.sh" build/prefix
  else
    count "$1" 0 1
  fi
}

# The tests fork while threads run: what the thread sanitizer cannot follow there it must not end.
export TSAN_OPTIONS="die_after_fork=0 ${TSAN_OPTIONS:-}"

tools/install-deps.sh || exit 1
mkdir -p build
rm -f build/failures
for suite in "${suites[@]}"; do
  case $suite in
    lint) run_step lint tools/lint.sh ;;
    fuzz) run_step fuzz tools/fuzz.sh 20 ;;
    asan | tsan) run_sanitizer "$suite" ;;
    unit | script) run_ctest "$suite" 1 "${suite}_test" ;;
    # They wait more than they work, each on one server: both at a time.
    integration) run_ctest integration 2 integration ;;
    cli) run_ctest cli 2 belay_cli ;;
    sim | abi | hostile | oldest | host | lifetime | chaos | sql | docs | bench) run_ctest "$suite" 1 ;;
    go | java | lua | conformance) run_binding "$suite" ;;
    debian13) # what depends on the system: README's commands, from a bare Debian 13 on, with its compiler and its servers
      run_counting debian13 tools/on-debian.sh 13 bash -c 'tools/demo.sh && tools/test.sh unit script integration cli' ;;
    valgrind)
      if tools/build.sh release integration; then run_step valgrind run_valgrind; else count valgrind 0 1; fi ;;
    *)
      echo "unknown suite '$suite'; there are: ${all[*]} valgrind" >&2
      exit 64 ;;
  esac
done
if [ -s build/failures ]; then cat build/failures; fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
