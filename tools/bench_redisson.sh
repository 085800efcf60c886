#!/usr/bin/env bash
# 16 names in one hold, beside Redisson's MultiLock of 16 in the same run, on a server of their own:
# tools/bench_redisson.sh [options of tools/bench.sh]. Needs a JDK from 17 on and Maven, which fetches Redisson.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for program in java mvn; do
  if ! command -v "$program" >/dev/null; then
    echo "bench_redisson: $program is missing: apt-get install default-jdk-headless maven" >&2
    exit 1
  fi
done
pom=tests/bench/redisson/pom.xml
path=$PWD/build/redisson/path
mvn --quiet --batch-mode --file "$pom" compile dependency:build-classpath "-Dmdep.outputFile=$path"

exec tools/bench.sh --peer "java -cp '$PWD/build/redisson/classes:$(cat "$path")' MultiLockPeer" "$@" names16
