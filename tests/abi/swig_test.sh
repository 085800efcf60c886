#!/usr/bin/env bash
# SWIG reads belay.h as it stands, without a warning, and wraps each of its functions for Java, Go and Lua, but for the two with arrays. What
# it writes compiles. Usage: swig_test.sh SOURCE_DIR
set -euo pipefail
source=$1
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
printf '%%module belay\n%%{\n#include "belay/belay.h"\n%%}\n%%include <stdint.i>\n%%include "belay/belay.h"\n' >"$here/belay.i"
exported=$(grep -o '\bbelay_[a-z_]*;' "$source/lib/exports.map" | tr -d ';' | grep -vx 'belay_\(submit_\)\?fenced_write')

passed=0
failed=0
check() { # WHAT COMMAND...
  if "${@:2}" >"$here/out" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$1:"
    cat "$here/out"
  fi
}

functions() { # LANGUAGE, whose wrapper is in the working directory
  case $1 in
    java) sed -n 's/.* static .* \(belay_[a-z_]*\)(.*/\1/p' belay.java ;;
    go) sed -n 's/^func B\(elay_[a-z_]*\)(.*/b\1/p' belay.go ;;
    lua) sed -n 's/^static int _wrap_\(belay_[a-z_]*\)(lua_State.*/\1/p' belay_wrap.c ;;
  esac
}

wraps_all() { # INCLUDE_DIR LANGUAGE [FLAG...]
  local out
  out=$(mktemp -d -p "$here")
  cd "$out"
  swig "-$2" "${@:3}" -Wall -Werror "-I$1" -outdir . -o belay_wrap.c "$here/belay.i" || return 1
  diff <(LC_ALL=C sort <<<"$exported") <(functions "$2" | LC_ALL=C sort -u)
}
wraps() { (wraps_all "$@"); }
refuses() { ! wraps "$@"; }

compiles() { # INCLUDE_DIR. Newer compilers take a pointer to another type for an error on their own
  swig -go -cgo -intgosize 64 "-I$1" -outdir "$here" -o "$here/wrap.c" "$here/belay.i" &&
    cc -fsyntax-only -Werror=incompatible-pointer-types -Werror=implicit-function-declaration "-I$1" "$here/wrap.c"
}
breaks() { ! compiles "$@"; }

check "for Java" wraps "$source/include" java -package io.belay
check "for Go" wraps "$source/include" go -cgo -intgosize 64
check "for Lua" wraps "$source/include" lua
check "the wrapper compiles" compiles "$source/include"

# What SWIG once could not read, it cannot: an attribute before a function, and an enum of a function's name, for which it drops the function.
# Nor does it write an array of numbers that C takes.
mkdir -p "$here/attribute/belay" "$here/enum/belay" "$here/array/belay"
sed 's/defined(SWIG)/defined(NONE)/' "$source/include/belay/belay.h" >"$here/attribute/belay/belay.h"
sed 's/enum belay_kind/enum belay_event_kind/' "$source/include/belay/belay.h" >"$here/enum/belay/belay.h"
sed 's/ifndef SWIG/ifndef NONE/' "$source/include/belay/belay.h" >"$here/array/belay/belay.h"
check "an attribute is not noticed" refuses "$here/attribute" lua
check "a function that is dropped is not noticed" refuses "$here/enum" java -package io.belay
check "an array that breaks the wrapper is not noticed" breaks "$here/array"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
