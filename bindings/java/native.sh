#!/usr/bin/env bash
# native.sh PREFIX: makes of Java's wrapper in C, which is generated and committed, and the static libbelay of PREFIX one shared object
# that needs nothing but libc. It goes to build/java, where Maven takes it. CC and CXX are the compilers, if not the system's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

die() {
  echo "native.sh: $*" >&2
  exit 1
}

need() { # COMMAND PACKAGE
  command -v "$1" >/dev/null || die "$1 is missing: apt-get install $2"
}

prefix=${1:?usage: native.sh PREFIX, where libbelay is installed}
need javac default-jdk-headless
need pkg-config pkg-config
need "${CXX:-c++}" g++
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name belay-static.pc 2>/dev/null | head -n 1)")
export PKG_CONFIG_PATH
pkg-config --exists belay-static 2>/dev/null || die "there is no libbelay under $prefix, where it was installed with --prefix"
out=$PWD/build/java
machine=$("${CC:-cc}" -dumpmachine)
natives=$out/natives/META-INF/belay/linux-${machine%%-*}
java_home=${JAVA_HOME:-$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")}
read -ra flags < <(pkg-config --cflags belay-static)
read -ra libraries < <(pkg-config --libs belay-static)

mkdir -p "$natives" "$out/made"
# SWIG's own code writes a pointer as a jlong.
"${CC:-cc}" -c -O2 -fPIC -fvisibility=hidden -fno-strict-aliasing -Wall "${flags[@]}" "-I$java_home/include" "-I$java_home/include/linux" \
  -o "$out/made/wrap.o" bindings/java/src/generated/c/belay_wrap.c
"${CXX:-c++}" -shared -static-libstdc++ -static-libgcc -Wl,-z,defs -Wl,-z,now -Wl,--version-script=bindings/java/exports.map \
  -s -o "$natives/libbelay_java.so" "$out/made/wrap.o" \
  "${libraries[@]/#-lstdc++/-static-libstdc++}"
if readelf -d "$natives/libbelay_java.so" | grep NEEDED | grep -vE 'lib(c|m)\.so|ld-linux'; then
  die "the jar would need these libraries: build libbelay where it can contain the archives of libuv, hiredis and OpenSSL"
fi
