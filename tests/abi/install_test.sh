#!/usr/bin/env bash
# What `cmake --install` gives, after its folder was moved: programs are built with each .pc file, and run. Usage: install_test.sh
# SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1
build=$2
# Server and folder end with this script.
coproc "$source/tests/support/launch_server.py" redis-server
read -r _ _ socket <&"${COPROC[0]}"
here=${socket%/*}
export BELAY_URL="unix://$socket"

cmake --install "$build" --prefix "$here/first" >/dev/null
mv "$here/first" "$here/moved"
libraries=$(dirname "$(find "$here/moved" -name libbelay.a)")
export PKG_CONFIG_PATH=$libraries/pkgconfig
cd "$here"

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

# shellcheck disable=SC2046 # the flags are words
compile() { # PACKAGE ARGUMENT..., with which cc makes a program
  cc -Wall -Werror "${@:2}" $(pkg-config --cflags --libs "$1")
}
works() { # COMMAND..., which takes the lock of examples/quickstart.c
  "$@" | grep 'under fence [0-9]'
}
needs_only() { # PATTERN FILE: which shared libraries it may need
  ! readelf -d "$2" | grep NEEDED | grep -Ev "\[($1)\." || return 1
}
system='libc|libm|libstdc\+\+|libgcc_s|ld-linux.*'

check "belay.pc has private flags" [ "$(pkg-config --static --libs-only-l --libs-only-other belay | xargs)" = -lbelay ]
check "a program is built with belay.pc" compile belay "$source/examples/quickstart.c" -o shared
check "the program with belay.pc runs" works env "LD_LIBRARY_PATH=$libraries" ./shared
check "a program is built with belay-static.pc" compile belay-static "$source/examples/quickstart.c" -o static
check "the program with belay-static.pc runs" works ./static
check "it needs more than the system's libraries" needs_only "$system" ./static
check "a library is built with belay-static.pc" compile belay-static -shared -fPIC -Wl,-z,defs,-z,nodelete -Dmain=start \
  "$source/examples/quickstart.c" -o libwithin.so
printf 'int start(void);\nint main(void) { return start(); }\n' >within.c
check "a program with that library is built" cc within.c -o within -L. -lwithin -Wl,-rpath,.
check "a program with that library runs" works ./within
printf '#include <belay/dl.h>\nint main(void) { struct belay_dl belay; return belay_dl_load(&belay, 0) != 0; }\n' >loads.c
check "a program is built with dl.h" cc -Wall -Werror "-I$here/moved/include" loads.c -o loads -ldl
check "the program with dl.h runs" env "LD_LIBRARY_PATH=$libraries" ./loads
check "the command runs" "$here/moved/bin/belay" run orders:42 -- true
cat >within.go <<'END'
package main

// #cgo pkg-config: belay-static
// #include <belay/belay.h>
import "C"

func main() { println(C.GoString(C.belay_version()), C.belay_abi()) }
END
check "Go takes belay-static.pc" go build -o within-go within.go
check "the program in Go runs" ./within-go
check "libbelay.a shows something else than exports.map lists" diff \
  <(grep -o '\bbelay_[a-z_]*;' "$source/lib/exports.map" | tr -d ';' | LC_ALL=C sort) \
  <(nm -g --defined-only "$libraries/libbelay.a" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort)

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
