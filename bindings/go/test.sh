#!/bin/sh
# Tests the Go binding: test.sh PREFIX, where libbelay is installed. Needs go, gcc, pkg-config, swig, redis-server, redis-cli and the
# staticcheck-pinned of tools/install-deps.sh.
# BELAY_TEST_SERVER: another server program, such as valkey-server. BELAY_LEAK_CYCLES: how many cycles the test of leaks runs.
set -eu
prefix=$(cd "${1:?usage: test.sh PREFIX}" && pwd)
cd "$(dirname "$0")"
pkgconfig=$(dirname "$(find "$prefix" -name belay.pc | head -n 1)")
export PKG_CONFIG_PATH="$pkgconfig" GOFLAGS=-buildvcs=false GOTOOLCHAIN=local
# Go's cache tells libraries apart by this flag, not by what pkg-config says: without it the static tests may have another prefix's.
export CGO_LDFLAGS="-L$prefix"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

count() { # count WORD: how many tests and of the log ended so
  grep -c "^--- $1: " "$log" || true
}

check() { # check WHAT COMMAND...
  what=$1
  shift
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
  else
    echo "FAIL: $what"
    cat "$log"
    failed=$((failed + 1))
  fi
}

tests() { # tests FOLDER ARGUMENTS...: the package there
  status=0
  folder=$1
  shift
  go test -C "$folder" -v -timeout 900s -parallel 8 "$@" >"$log" 2>&1 || status=$?
  passed=$((passed + $(count PASS)))
  failed=$((failed + $(count FAIL)))
  if [ "$status" -ne 0 ] || [ "$(count PASS)" -eq 0 ]; then
    grep -v -e '^=== ' -e '^--- PASS' "$log" || true
    [ "$(count FAIL)" -ne 0 ] || failed=$((failed + 1)) # it did not even run
  fi
}

formatted() {
  test -z "$(gofmt -l ./*.go internal/native/[!b]*.go examples | grep -v native/native.go)"
}

# A build without the library names it, and says nothing of Go's. The flag keeps the cache from knowing a build that succeeded.
names_the_library() {
  said=$(PKG_CONFIG_PATH=/nonexistent PKG_CONFIG_LIBDIR=/nonexistent go build -gcflags=-N ./internal/native 2>&1) && return 1
  echo "$said"
  echo "$said" | grep -q "[Pp]ackage '\?belay'\?.* not found" && ! echo "$said" | grep -q '\.go:'
}

# A build without cgo says one sentence, below the name of the package.
says_that_it_is_cgo() {
  said=$(CGO_ENABLED=0 go build ./... 2>&1) && return 1
  echo "$said"
  [ "$(echo "$said" | grep -c -v '^# belay.invalid/belay/internal/native$')" -eq 1 ] &&
    echo "$said" | grep -q '"belay needs cgo: install a C compiler and set CGO_ENABLED=1"'
}

static_side() {
  check "the generated files are those of belay.h" python3 ../swig/generate.py go --check
  check "gofmt" formatted
  check "go vet" go vet .
  check "go vet of the generated package, which SWIG's string helper would fail" go vet -unsafeptr=false ./internal/native
  check "staticcheck" staticcheck-pinned .
  check "staticcheck of the generated package, whose variables SWIG declares first" staticcheck-pinned -checks inherit,-S1021 ./internal/native
  check "a build without the library names it" names_the_library
  check "a build without cgo says so" says_that_it_is_cgo
  check "the example of README" ../../tests/docs/quickstart_test.sh go "$prefix" .
  check "the programs of docs/languages.md" ../../tests/docs/languages_test.sh go "$prefix"
  tests . -tags belay_static -count=1 # with no library in the loader's way
}

shared_side() {
  LD_LIBRARY_PATH=$(dirname "$pkgconfig")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export LD_LIBRARY_PATH
  tests . -race -count=1
  check "go vet and staticcheck of the example for Prometheus" sh -c 'cd examples/prometheus && go vet ./... && staticcheck-pinned ./...'
  tests examples/prometheus -count=1
}

run() { # run SIDE: leaves in a file how many passed and failed
  log=$work/$1.log
  "$1"
  echo "$passed $failed" >"$work/$1.sum"
}

# The tests mostly wait, so the sides run at the same time. Without a cache each compiles the standard library: the race detector has its own.
run static_side &
run shared_side &
wait
for side in static_side shared_side; do
  read -r p f <"$work/$side.sum"
  passed=$((passed + p))
  failed=$((failed + f))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
