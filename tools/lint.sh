#!/usr/bin/env bash
# The rules of the house that tools can check: tools/lint.sh [lint | tidy]. lint: shellcheck, clang-format, luacheck on the scripts as they are sent,
# gofmt, go vet; tidy: clang-tidy, which takes minutes. None named: both.
set -euo pipefail
cd "$(dirname "$0")/.."

lint() {
  mapfile -t sources < <(git ls-files '*.h' '*.c' '*.cpp' ':!*/belay_wrap.c' ':!*/words.h') # generated
  clang-format --dry-run --Werror "${sources[@]}"
  # Each verb uses some of what is put around it, and has names of its own: that is no complaint there.
  luacheck --quiet --no-unused --no-redefined --config .luacheckrc build/release/lib/scripts/*.lua
  luacheck --quiet --config bindings/lua/.luacheckrc bindings/bench/lua
  unformatted=$(gofmt -l tests/chaos tests/bench/peers bindings/bench)
  if [ -n "$unformatted" ]; then
    echo "gofmt: $unformatted"
    return 1
  fi
  (cd tests/chaos && go vet ./...)
  mapfile -t shells < <(git ls-files '*.sh' .ci/run)
  shellcheck "${shells[@]}"
}

tidy() {
  mapfile -t units < <(git ls-files 'lib/*.cpp' 'tools/*.cpp')
  # As GCC builds it, but for what clang does not know.
  mkdir -p build/release/tidy
  sed 's/ -fno-gnu-unique//' build/release/compile_commands.json >build/release/tidy/compile_commands.json
  printf '%s\n' "${units[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy -p build/release/tidy --quiet 2>&1 |
    { grep -vE '^[0-9]+ warnings? generated|^Suppressed|^Use -header-filter' || true; } | tee build/release/tidy.log
  if grep -q 'error:' build/release/tidy.log; then return 1; fi
}

tools/build.sh release
case ${1:-} in
  lint | tidy) "$1" ;;
  *)
    lint
    tidy ;;
esac
