#!/usr/bin/env bash
# The library without TLS is configured where there is no OpenSSL, what differs compiles without a warning, and a program with it works and says
# in words what it lacks. All else is the build's at hand, which spares a minute. Usage: without_tls_test.sh SOURCE_DIR CORE_ARCHIVE
set -euo pipefail
source=$1
core=$2
# Server and folder end with this script.
coproc "$source/tests/support/launch_server.py" redis-server
read -r _ _ socket <&"${COPROC[0]}"
here=${socket%/*}
export BELAY_URL="unix://$socket"
cd "$here"

printf '#!/bin/sh\ncase "$*" in *openssl*) exit 1 ;; esac\nexec pkg-config "$@"\n' >no-openssl
chmod +x no-openssl
cmake -G Ninja -S "$source" -B build -DPKG_CONFIG_EXECUTABLE="$here/no-openssl" -DCMAKE_BUILD_TYPE=Debug -DBELAY_WERROR=ON \
  -DBELAY_TLS=OFF >cmake.log 2>&1 || { cat cmake.log; exit 1; }
mapfile -t differs < <(cd "$source/lib" && grep -rlE 'kHasTls|BELAY_TLS|"net/tls.h"' --include=*.cpp . | grep -v '/tls.cpp$')
objects=("${differs[@]/%/.o}")
objects=("${objects[@]/#./lib/CMakeFiles/belay_core.dir}")
ninja -C build "${objects[@]}" >ninja.log || { cat ninja.log; exit 1; }

cat >without.c <<'END'
#include <belay/belay.h>
#include <stdio.h>

int main(void) {
  belay_options* options = belay_options_new();
  const int status = belay_options_set_url(options, "rediss://localhost");
  printf("%s: %s\n", belay_status_name(status), belay_options_error(options));
  belay_options_free(options);
}
END
program() { # SOURCE OUTPUT
  cc -c -Wall -Werror "-I$source/include" "$1" -o "$2.o"
  # shellcheck disable=SC2046 # the flags are words
  c++ "$2.o" "${objects[@]/#/build/}" "$core" $(pkg-config --libs libuv hiredis) -pthread -o "$2"
}
program without.c without
program "$source/examples/quickstart.c" quickstart
./without | tee out
grep -q '^UNSUPPORTED_URL: .*built without TLS' out
./quickstart | tee out
grep -q 'under fence [0-9]' out
