#!/usr/bin/env bash
# build.sh OUT: leaves lock libraries of others as sides of the benchmark in OUT: redisson, redsync, redislock, rueidislock, redis-py. Needs
# a JDK from 17 on, Maven, Go and pip, which fetch the libraries. A Go that is older than 1.26 also fetches that, unless it is told not to.
set -euo pipefail
out=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$out/.work
mkdir -p "$work"

(cd go && GOFLAGS=-buildvcs=false go build -o "$work/go" .)
for library in redsync redislock rueidislock; do
  printf '#!/bin/sh\nexec "%s/go" %s "$@"\n' "$work" "$library" >"$out/$library"
done

mvn --quiet --batch-mode --file redisson/pom.xml dependency:build-classpath "-Dmdep.outputFile=$work/redisson.path"
javac --release 17 -Xlint:all,-processing,-classfile -Werror -cp "$(cat "$work/redisson.path")" -d "$work/redisson" \
  redisson/*.java ../../../bindings/bench/java/Peer.java
printf '#!/bin/sh\nexec java -cp "%s:%s" RedissonPeer "$@"\n' "$work/redisson" "$(cat "$work/redisson.path")" >"$out/redisson"

python3 -m pip --quiet --disable-pip-version-check install --root-user-action ignore --target "$work/redis-py" redis==8.1.0
cat >"$out/redis-py" <<END
#!/bin/sh
export PYTHONPATH="$work/redis-py"
exec python3 -B "$PWD/redis_py/peer.py" "\$@"
END
chmod +x "$out"/r*
