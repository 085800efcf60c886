#!/usr/bin/env bash
# aarch64.sh: cross-builds the native library of the jar for aarch64, on Debian 12 or 13 for x86-64. native.sh leaves it in build/java,
# beside the one of this machine, so that the next `mvn package` has both. Needs g++-aarch64-linux-gnu and what native.sh needs.
# aarch64.sh try: also packs the jar, and makes every call of the binding with it in a Java runtime for aarch64. Needs qemu-user-static,
# Maven and redis-server.
#
# libuv, OpenSSL and hiredis for aarch64 are Debian's own, from the mirror that apt uses: nothing is installed, and apt's own lists stay as they
# are. Debian 12's hiredis is too old, and Debian 13's libuv needs a later glibc than Debian 12 has: each comes from the other.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

work=$PWD/build/aarch64
system=$work/system
target=aarch64-linux-gnu

apt_aarch64() { # SUITE COMMAND...: apt-get, as of that suite for aarch64
  local lists=$work/lists/$1 mirror
  mkdir -p "$lists/partial"
  # shellcheck disable=SC2016 # apt expands it
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' 'Created-By: Packages' | head -n 1)
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >"$lists.list"
  apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Acquire::Languages=none -o Dir::Etc::SourceList="$lists.list" \
    -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= "${@:2}"
}

unpack() { # SUITE PACKAGE...
  apt_aarch64 "$1" update
  (cd "$work" && apt_aarch64 "$1" download "${@:2}")
  for package in "${@:2}"; do dpkg -x "$work/$package"_*.deb "$system"; done
}

# Makes every call in Debian's Java for aarch64, which is unpacked here with all that it needs.
try_jar() {
  local runtime=$work/runtime archives=$work/archives
  if [ ! -d "$runtime" ]; then
    mkdir -p "$archives/partial"
    apt_aarch64 bookworm -y -o Dir::State::status=/dev/null -o Dir::Cache::archives="$archives" -o Debug::NoLocking=1 \
      install --no-install-recommends --download-only openjdk-17-jre-headless
    for package in "$archives"/*.deb; do dpkg -x "$package" "$runtime.new"; done
    mv "$runtime.new" "$runtime"
  fi
  mvn --quiet --batch-mode --file bindings/java/pom.xml package -DskipTests
  coproc tests/support/launch_server.py redis-server # which ends with this script
  read -r _ _ socket <&"${COPROC[0]}"
  qemu-aarch64-static -L "$runtime" "$runtime"/usr/lib/jvm/java-17-openjdk-arm64/bin/java -Xcheck:jni \
    -cp "$(echo build/java/maven/platforms/belay-*-linux-aarch64.jar):build/java/maven/test-classes" \
    invalid.belay.Child everything "unix://$socket"
}

mkdir -p "$work"
if [ ! -d "$system" ]; then
  unpack bookworm libuv1-dev libssl-dev
  unpack trixie libhiredis-dev
fi
export PKG_CONFIG_LIBDIR=$system/usr/lib/$target/pkgconfig PKG_CONFIG_SYSROOT_DIR=$system
cmake -S . -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_C_COMPILER=$target-gcc -DCMAKE_CXX_COMPILER=$target-g++ -DCMAKE_FIND_ROOT_PATH="$system" \
  -DCMAKE_INSTALL_LIBDIR=lib
cmake --build "$work/build" --target belay belay_static
for part in lib pkgconfig; do cmake --install "$work/build/$part" --prefix "$work/prefix"; done
unset PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
CC=$target-gcc CXX=$target-g++ bindings/java/native.sh "$work/prefix"
if [ "${1:-}" = try ]; then try_jar; fi
