#!/usr/bin/env bash
# What libbelay.so shows to the world: the functions of belay.h, no more and no less, under its version; its name; how it is
# loaded. And that every number of belay.h is among the frozen ones. Usage: exports_test.sh LIBRARY SOURCE_DIR
set -euo pipefail
library=$1
source=$2
here=$(cd "$(dirname "$0")" && pwd)

passed=0
failed=0
same() { # WHAT EXPECTED ACTUAL
  if [ -n "$2" ] && [ "$2" == "$3" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$1:"
    diff <(echo "$2") <(echo "$3") || true
  fi
}

without_comments() { # FILE, which comes out in one line
  tr '\n' ' ' <"$1" | sed 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/,,g'
}

symbols=$(nm -D --defined-only "$library" | awk '{ print $NF }' | LC_ALL=C sort)
declared=$(without_comments "$source/include/belay/belay.h" | grep -o '\bbelay_[a-z_]*(' | tr -d '(' | LC_ALL=C sort -u)
mapped=$(grep -o '\bbelay_[a-z_]*;' "$source/lib/exports.map" | tr -d ';' | LC_ALL=C sort)
node=$(sed -n 's/^\(BELAY_[0-9]*\) {$/\1/p' "$source/lib/exports.map")
abi=$(sed -n 's/^#define BELAY_ABI \([0-9]*\)$/\1/p' "$source/include/belay/belay.h")

same "exports.map lists other functions than belay.h declares" "$declared" "$mapped"
same "exports.map is not in order" "$mapped" "$(grep -o '\bbelay_[a-z_]*;' "$source/lib/exports.map" | tr -d ';')"
same "the library exports something else" \
  "$({ awk -v node="$node" '{ print $0 "@@" node }' <<<"$mapped"; echo "$node"; } | LC_ALL=C sort)" \
  "$({ awk -F@@ '$1 == $2 { $0 = $1 } { print }' <<<"$symbols"; } | LC_ALL=C sort)"
same "the version node has not the number of BELAY_ABI" "BELAY_$abi" "$node"
same "a call within the library goes by a public name, which a host may take over" "none" \
  "$(LC_ALL=C readelf -r -W "$library" | grep -o ' belay_[a-z_]*@.*' || echo none)"
same "a C++ symbol is exported" "none" "$(grep '^_Z' <<<"$symbols" || echo none)"

dynamic=$(LC_ALL=C readelf -d -W "$library")
same "the SONAME does not end in BELAY_ABI" \
  "libbelay.so.$abi" \
  "$(sed -n 's/.*(SONAME).*\[\(.*\)\]$/\1/p' <<<"$dynamic")"
same "the library may be unloaded (-z nodelete is missing)" "NODELETE" \
  "$(grep -o -m1 '\bNODELETE\b' <<<"$dynamic" || echo missing)"
same "the library is bound lazily, which may leave a password on the stack (-z now is missing)" "NOW" \
  "$(grep -o -m1 '\bNOW\b' <<<"$dynamic" || echo missing)"
same "the library has text relocations" "none" "$(grep TEXTREL <<<"$dynamic" || echo none)"
same "the library wants an executable stack" "RW" \
  "$(LC_ALL=C readelf -l -W "$library" | awk '$1 == "GNU_STACK" { print $7 }')"
same "the library brings a search path" "none" "$(grep -E 'RPATH|RUNPATH' <<<"$dynamic" || echo none)"

numbers() { # FILE PATTERN
  without_comments "$1" | grep -oE "$2" | grep -oE 'BELAY_[A-Z_]+' | LC_ALL=C sort
}
same "frozen_numbers.c does not freeze what belay.h numbers" \
  "$(numbers "$source/include/belay/belay.h" 'BELAY_[A-Z_]+ *= *-?[0-9]+')" \
  "$(numbers "$here/frozen_numbers.c" 'FROZEN\(BELAY_[A-Z_]+, *-?[0-9]+\)')"

functions() { # FILE
  without_comments "$1" | grep -o '\bbelay_[a-z_]*(' | tr -d '(' | LC_ALL=C sort
}
same "frozen_functions.c does not freeze what belay.h declares" "$(functions "$source/include/belay/belay.h")" \
  "$(functions "$here/frozen_functions.c")"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
