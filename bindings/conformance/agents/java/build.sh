#!/bin/sh
# build.sh PREFIX BUILD: leaves the agent in Java as BUILD/java, a script beside the jar and the agent's classes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$2" && pwd)
"$here/../../../java/native.sh" "$1"
mvn --quiet --batch-mode -Dstyle.color=never --file "$here/../../../java/pom.xml" package -DskipTests
jar=$build/java-belay.jar
cp "$here"/../../../../build/java/maven/belay-*.jar "$jar"
javac --release 17 -Xlint:all -Werror -cp "$jar" -d "$build/java-classes" "$here/Agent.java"
printf '#!/bin/sh\nexec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "%s:%s" Agent\n' "$jar" "$build/java-classes" >"$build/java"
chmod +x "$build/java"
