#!/usr/bin/env bash
# jmh.sh PREFIX [JMH-OPTION...]: measures the calls of the binding with JMH, on a server of its own; with the libbelay that is installed
# under PREFIX. A minute; the options -f 1 -wi 1 -i 2 make it shorter. JAVA is the runtime, if not the system's. From 21 on, the option
# -jvmArgsAppend -Djmh.executor=VIRTUAL measures virtual threads. bindings/java/runtimes.sh brings such runtimes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

prefix=${1:?usage: jmh.sh PREFIX, where libbelay is installed}
bindings/java/native.sh "$prefix"
mvn --quiet --batch-mode --file bindings/java/pom.xml package -DskipTests
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mvn --quiet --batch-mode --file bindings/java/jmh/pom.xml dependency:build-classpath "-Dmdep.outputFile=$work/path"
path=$(echo build/java/maven/belay-*.jar):$(cat "$work/path")
javac --release 17 -Xlint:all,-processing -Werror -cp "$path" -processorpath "$path" -d "$work/classes" bindings/java/jmh/LockBenchmark.java
coproc tests/support/launch_server.py redis-server # which ends with this script
read -r _ _ socket <&"${COPROC[0]}"
BELAY_URL=unix://$socket "${JAVA:-java}" -cp "$path:$work/classes" org.openjdk.jmh.Main "${@:2}"
