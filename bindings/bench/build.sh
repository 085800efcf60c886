#!/usr/bin/env bash
# build.sh PREFIX OUT: leaves the sides of the benchmark as OUT/go, OUT/java, OUT/lua (5.4) and OUT/luajit, with the libbelay that is
# installed under PREFIX.
set -euo pipefail
prefix=$(realpath "$1")
out=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$out/.work
mkdir -p "$work"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name belay.pc | head -n 1)")
export PKG_CONFIG_PATH
# Go's cache tells libraries apart by this flag, not by what pkg-config says: without it the program may have another prefix's.
(cd go && CGO_LDFLAGS="-L$prefix" GOFLAGS=-buildvcs=false GOTOOLCHAIN=local go build -tags belay_static -o "$out/go" .)

../java/native.sh "$prefix"
mvn --quiet --batch-mode --file ../java/pom.xml package -DskipTests
javac --release 17 -Xlint:all -Werror -cp "$(echo ../../build/java/maven/belay-*.jar)" -d "$work/java" java/*.java
cat >"$out/java" <<END
#!/bin/sh
exec java -cp "$(realpath ../../build/java/maven/belay-*.jar):$work/java" BelayPeer "\$@"
END

for lua in lua5.4 luajit; do
  side=$out/${lua%5.4}
  ../lua/install.sh "$prefix" "$lua" "$work/$lua"
  cat >"$side" <<END
#!/bin/sh
. "$work/$lua/env"
exec $lua "$PWD/lua/peer.lua" "\$@"
END
  chmod +x "$side"
done
chmod +x "$out/java"
