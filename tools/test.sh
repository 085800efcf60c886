#!/usr/bin/env bash
# Runs the tests, on a bare machine too: tools/test.sh [--list | [--all] [--repeat N [--busy]] [SUITE...]]. Without arguments it runs the gate, which
# every change passes; --all runs every suite, and runs them in full: without it conformance plays a third of its pairs. --list says what each suite
# shows. A suite that fails does not stop the others. Each prints how many tests passed and failed, and its seconds; the last line is `N passed, N failed`.
# The logs are in build/suites.
# --repeat runs the suites N times and says at the end how often each test failed. A test that is otherwise run again where the machine stood still is
# not. --busy keeps every core busy meanwhile.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tools/suite_log.sh
. tools/suite_log.sh

# Groups run one after the other, the suites of a group side by side: those of the gate that share a group wait more than they compute.
gate=(unit script sim abi lint 'integration cli' 'hostile sql docs cluster' go java lua conformance)
others=(valkey clusters sentinel tls oldest newest host lifetime luas leaks binding-mutants chaos mutants schedules bench tidy asan tsan fuzz debian13 valgrind)
declare -A shows=(
  [unit]='single parts, in fake time and over a fake link'
  [script]='every verb, reply and message, on four servers'
  [sim]='10 000 schedules of the real engine and scripts under random faults; bounds in exact time'
  [abi]='headers, exported symbols, layers, installed and static libraries'
  [lint]='clang-format, luacheck, gofmt, go vet, shellcheck'
  [integration]='the C API, in several processes, on Redis'
  [cluster]='three masters of a cluster, whose slots move, and which are replaced'
  [hostile]='a neighbour who forges, replays and floods messages'
  [cli]='the belay command, on Redis'
  [sql]='fences in SQLite and PostgreSQL'
  [docs]='the programs and shell lines of README and docs'
  [go]='the Go binding'
  [java]='the Java binding'
  [lua]='the Lua binding, on Lua 5.4 and LuaJIT'
  [conformance]='one meaning in C, Go, Java, Lua and the command'
  [valkey]='integration, also through sentinels, cluster, hostile and cli, on Valkey'
  [clusters]='integration on three masters of a cluster'
  [sentinel]='integration through sentinels, on a master with two replicas'
  [tls]='cuts, restarts and kills, over TLS'
  [oldest]='integration and cluster, on Redis 6.2'
  [newest]='script, integration and cluster, on the newest Redis and Valkey'
  [host]='programs that are careless with descriptors, forks, stacks and clocks'
  [lifetime]='no leak of descriptors, threads or memory'
  [luas]='the Lua binding, on Lua 5.3 and 5.1'
  [binding-mutants]='the scenarios notice each line of a binding that is broken'
  [leaks]='200 000 cycles of Go, Java and Lua leave nothing'
  [chaos]='histories of real processes under real faults'
  [mutants]='the simulation notices each rule that is switched off'
  [schedules]='100 000 schedules'
  [bench]='the benchmark runs to its end'
  [tidy]='clang-tidy'
  [asan]='unit, integration, chaos and 500 schedules under AddressSanitizer and UBSan'
  [tsan]='the same under ThreadSanitizer'
  [fuzz]='hostile input, 20 s for each target'
  [debian13]='the demos, unit, script, integration and cli, on a bare Debian 13'
  [valgrind]='integration under memcheck'
)

# What a suite needs of the release build; nothing: it builds what it needs itself.
targets() { # SUITE
  case $1 in
    unit | script) echo "$1_test" ;;
    integration | sentinel | tls | valgrind) echo integration ;;
    oldest) echo integration cluster ;;
    cluster | clusters) echo cluster ;;
    newest) echo script_test integration cluster ;;
    cli) echo belay_cli ;;
    asan | tsan | fuzz | debian13) ;;
    *) echo all ;;
  esac
}

run_ctest() { # PRESET LABELS [OPTION...]
  ctest --test-dir "build/$1" -L "^($2)\$" --verbose --no-tests=error "${@:3}"
}

# What sanitizers watch. Very many holds take a sanitized client minutes, so that their leases end: a tenth of them do as well here.
run_sanitized() { # PRESET
  tools/build.sh "$1" unit_test integration chaos_worker chaos_hammer sim || return 1
  # The tests fork while threads run: what the thread sanitizer cannot follow there it must not end.
  TSAN_OPTIONS="die_after_fork=0 ${TSAN_OPTIONS:-}" BELAY_TEST_HOLDS=2000 run_ctest "$1" 'unit|integration|chaos|sim_short'
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

# The tests of the bindings again, with their tests of leaks in full.
run_leaks() {
  export BELAY_LEAK_CYCLES=200000
  bindings/lua/test.sh build/prefix lua5.4 luajit && bindings/go/test.sh build/prefix && bindings/java/test.sh build/prefix
}

# A command that counts nothing is one test.
one_test() { "$@" && echo '1 passed, 0 failed'; }

start() { # SUITE; prints its log
  case $1 in
    lint | tidy) one_test tools/lint.sh "$1" ;;
    # What users of the bindings have: a library that is installed, and nothing of the build.
    go | java) "bindings/$1/test.sh" build/prefix ;;
    conformance) bindings/conformance/test.sh build/prefix "${whole[@]}" ;;
    lua) bindings/lua/test.sh build/prefix lua5.4 luajit ;;
    luas) bindings/lua/test.sh build/prefix lua5.3 lua5.1 ;;
    leaks) one_test run_leaks ;;
    binding-mutants) bindings/conformance/mutants.py build/prefix build/binding-mutants ;;
    asan | tsan) run_sanitized "$1" ;;
    fuzz) one_test tools/fuzz.sh 20 ;;
    valgrind) one_test run_valgrind ;;
    # What depends on the system, with its compiler and its servers.
    debian13) tools/on-debian.sh 13 bash -c 'tools/demo.sh && tools/demo.sh --sentinel && tools/demo.sh --cluster && tools/test.sh unit script integration cli' ;;
    *) run_ctest release "$1" ;;
  esac
}

# Runs a suite; leaves its log, and what is to be said of it. One that runs nothing has failed.
run() { # SUITE
  local log=build/suites/$1${round:+.$round}.log began=$SECONDS status=0 good bad
  start "$1" >"$log" 2>&1 </dev/null || status=$?
  read -r good bad < <(tally "$log")
  if ((bad == 0 && (status != 0 || good == 0))); then bad=1; fi
  echo "$good $bad $((SECONDS - began))" >"build/suites/$1.result"
}

round='' # of several
passed=0
failed=0
report() { # SUITE
  local log=build/suites/$1${round:+.$round}.log good bad seconds
  read -r good bad seconds <"build/suites/$1.result"
  passed=$((passed + good))
  failed=$((failed + bad))
  if ((bad > 0)); then
    [[ -n $round ]] || cat "$log"
    failed_logs+=("$log")
  fi
  printf '%-15s %s passed, %s failed (%d s)\n' "$1" "$good" "$bad" "$seconds"
}

run_groups() {
  local group suite running
  for group in "${groups[@]}"; do
    running=()
    for suite in $group; do
      run "$suite" &
      running+=($!)
    done
    wait "${running[@]}"
    for suite in $group; do report "$suite"; done
  done
}

# Runs the suites again and again, on a busy machine or not, and counts how often each test failed.
repeat_groups() {
  local core
  export BELAY_TEST_TRIES=1
  if [[ -n $busy ]]; then
    for ((core = 0; core < $(nproc); ++core)); do
      while kill -0 $$ 2>/dev/null; do :; done & # ends with us, also by kill -9
    done
  fi
  for ((round = 1; round <= repeat; ++round)); do
    echo "-- run $round of $repeat"
    run_groups
  done
  for log in "${failed_logs[@]}"; do failed_tests "$log" | sed "s|^|$(basename "${log%.*.log}"): |"; done |
    sort | uniq -c | sort -rn | sed -E "s/^ *([0-9]+)/failed \\1 of $repeat/"
}

# Builds what the suites need, and installs the library for the bindings.
build() {
  local suite needed=()
  for suite in "${suites[@]}"; do
    # shellcheck disable=SC2207 # words
    needed+=($(targets "$suite"))
  done
  if ((${#needed[@]} == 0)); then return; fi
  if [[ " ${needed[*]} " == *' all '* ]]; then needed=(all); fi
  tools/build.sh release "${needed[@]}" &&
    { [[ " ${suites[*]} " != *\ @(go|java|lua|luas|leaks|conformance|binding-mutants)\ * ]] || cmake --install build/release --prefix build/prefix >build/suites/prefix.log; }
}

refuse() { # WHY
  echo "tools/test.sh: $1" >&2
  exit 64
}

groups=()
whole=()  # what a suite that has a short and a long form gets
repeat='' # how often
busy=
while (($# > 0)); do
  case $1 in
    --all) whole=(--all) ;;
    --busy) busy=yes ;;
    --repeat)
      shift
      repeat=${1:-}
      [[ $repeat =~ ^[1-9][0-9]{0,3}$ ]] || refuse "--repeat wants a number from 1 to 9999, not '$repeat'"
      ;;
    --list)
      printf '%s\n' "${gate[@]}" "${others[@]}" | tr ' ' '\n' | while read -r suite; do
        printf '%-15s %-5s %s\n' "$suite" "$([[ " ${gate[*]} " == *" $suite "* ]] && echo gate)" "${shows[$suite]}"
      done
      exit ;;
    *) groups+=("$1") ;;
  esac
  shift
done
[[ -z $busy || -n $repeat ]] || refuse '--busy goes with --repeat'
if ((${#groups[@]} == 0)); then
  groups=("${gate[@]}")
  if ((${#whole[@]} > 0)); then groups+=("${others[@]}"); fi
fi
mapfile -t suites < <(printf '%s\n' "${groups[@]}" | tr ' ' '\n')
for suite in "${suites[@]}"; do
  [[ -n ${shows[$suite]:-} ]] || refuse "there is no suite '$suite'; --list names them"
done

tools/install-deps.sh || exit 1
rm -rf build/suites build/gate-passed
mkdir -p build/suites
if ! build; then
  echo "the build failed; the tests did not run"
  echo '0 passed, 1 failed'
  exit 1
fi
echo "installation and build took $SECONDS s"
failed_logs=()
if [[ -n $repeat ]]; then
  repeat_groups
else
  run_groups
  for log in "${failed_logs[@]}"; do explain "$log"; done
  if ((failed == 0)) && [[ " ${suites[*]} " == *" ${gate[*]} "* && -z $(git status --porcelain) ]]; then
    git rev-parse 'HEAD^{tree}' >build/gate-passed
  fi
fi
echo "in all $SECONDS s"
echo "$passed passed, $failed failed"
((failed == 0))
