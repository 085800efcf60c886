#!/usr/bin/env bash
# bare.sh: runs the examples with the jar in a Debian 12 of its own, made as tools/on-debian.sh says, in which there is a Java runtime and
# neither libuv nor hiredis. Needs root, or sudo; redis-server, which runs outside; and the jar: bindings/java/test.sh makes it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

coproc tests/support/launch_server.py redis-server # which ends with this script
read -r _ port _ <&"${COPROC[0]}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp build/java/maven/platforms/belay-*-"linux-$(uname -m)".jar "$work/belay.jar"
javac --release 17 -cp "$work/belay.jar" -d "$work" bindings/java/examples/{Quickstart,JdkForms}.java

# In that system: belay.jar and the examples come on stdin.
inside() { # URL
  set -euo pipefail
  folder=$(mktemp -d)
  tar -x -C "$folder"
  if ldconfig -p | grep -E 'libuv|hiredis'; then
    echo "this Debian is not bare: remove build/debian-12"
    exit 1
  fi
  if ! command -v java >/dev/null; then
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends openjdk-17-jre-headless >/dev/null 2>&1
  fi
  for program in Quickstart JdkForms; do BELAY_URL=$1 java -cp "$folder/belay.jar:$folder" "$program"; done | tee "$folder/out"
  grep -q '^charging order 42 under fence [0-9]*$' "$folder/out"
  grep -q '^started$' "$folder/out"
  rm -r "$folder"
}

tar -c -C "$work" . |
  tools/on-debian.sh 12 bash -c "$(declare -f inside); inside \"\$@\"" inside "redis://127.0.0.1:$port"
echo "the jar runs on a bare Debian 12"
