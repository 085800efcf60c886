#!/usr/bin/env bash
# test.sh PREFIX: builds the Java binding from sources, with the libbelay that is installed under PREFIX, and tests it on servers of its
# own. Needs a JDK from 17 on, Maven, SWIG, a C++ compiler, pkg-config, python3 and redis-server. BELAY_LEAK_CYCLES: how many cycles the
# test of leaks runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

prefix=$(realpath "${1:?usage: test.sh PREFIX, where libbelay is installed}")
bindings/swig/generate.py java --check
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
# The build needs no SWIG: what another version would write has not been tried.
ln -s /bin/false "$work/swig"
PATH=$work:$PATH bindings/java/native.sh "$prefix"
bindings/java/runtimes.sh
rm -rf build/java/maven/surefire-reports

# Tools that end within seconds gain nothing from the second compiler, which doubles their time.
quick=(-XX:TieredStopAtLevel=1 -XX:+UseSerialGC)
export MAVEN_OPTS="${quick[*]}"

maven() { mvn --quiet --batch-mode -Dstyle.color=never --file bindings/java/pom.xml "$@"; }

documentation() {
  local status=0 sources
  mapfile -t sources < <(find bindings/java/src/main bindings/java/src/generated -name '*.java')
  javadoc "${quick[@]/#/-J}" -quiet -Xdoclint:all -Xdoclint/package:invalid.belay -Xmaxwarns 1000 -Werror --release 17 \
    -d build/java/javadoc "${sources[@]}" || status=1
  if ! jar --list --file build/java/maven/sources/belay-*-sources.jar | grep -x invalid/belay/Errors.java >/dev/null; then
    echo "the jar of sources lacks those that are generated"
    status=1
  fi
  if ! tests/docs/quickstart_test.sh java "$prefix" build/java/maven; then
    echo "the example of README fails"
    status=1
  fi
  tests/docs/languages_test.sh java "$prefix" build/java/maven || status=1
  return "$status"
}

status=0
maven package -DskipTests
documentation >"$work/documentation" 2>&1 & # beside the tests, which often wait
documented=$!
maven surefire:test -Dmaven.test.failure.ignore=true "-Dbelay.cycles=${BELAY_LEAK_CYCLES:-4000}" || status=$?
wait "$documented" || status=1
cat "$work/documentation"
python3 - build/java/maven/surefire-reports <<'COUNT' || status=1
import pathlib, sys
from xml.etree import ElementTree

cases = [case for path in pathlib.Path(sys.argv[1]).glob("*.xml") for case in ElementTree.parse(path).iter("testcase")]
bad = [case for case in cases if any(case.find(what) is not None for what in ("failure", "error", "skipped"))]
for case in bad:
    print(f"failed: {case.get('classname')}.{case.get('name')}")
print(f"{len(cases) - len(bad)} passed, {len(bad)} failed")
sys.exit(bool(bad) or not cases)
COUNT
exit "$status"
