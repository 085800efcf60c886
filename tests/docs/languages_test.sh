#!/usr/bin/env bash
# Runs the programs of docs/languages.md in one language on a server of its own, and compares what they print with what stands there:
# languages_test.sh sh|c|go|java|lua PREFIX [WORK]. PREFIX: where libbelay is installed, or a folder in which it was built. WORK: of Lua,
# where install.sh has put the rock; of Java, the folder of the jar. Prints `N passed, N failed`.
set -euo pipefail
language=$1
prefix=$(realpath "$2")
work=$(realpath "${3:-.}")
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
page=$source/docs/languages.md

# Server and folder end with this script.
coproc "$source/tests/support/launch_server.py" redis-server
read -r _ _ socket <&"${COPROC[0]}"
here=${socket%/*}
export BELAY_URL="unix://$socket"
libraries=$(dirname "$(find "$prefix" -name libbelay.so | head -n 1)")
export LD_LIBRARY_PATH="$libraries" PKG_CONFIG_PATH="$libraries/pkgconfig"
command=$prefix/bin/belay
[ -x "$command" ] || command=$prefix/tools/belay
mkdir "$here/bin"
ln -s "$command" "$here/bin/belay"
PATH=$here/bin:$PATH

# The block of a language in the section whose heading begins so.
block() { # LANGUAGE HEADING
  awk -v start="\`\`\`$1" -v heading="## $2" '
    /^## / { section = index($0, heading) == 1 }
    /^```$/ { inside = 0 }
    inside { print }
    section && $0 == start { inside = 1 }' "$page"
}

# The frame with the program of a section in the place of the line that says so.
whole() { # NUMBER
  if [ "$language" = sh ]; then
    block sh "$1."
  else
    block "$language" 'The frame' | while IFS= read -r line; do
      if [[ $line =~ ^' '*('/* the program */'|'// the program'|'-- the program')$ ]]; then
        block "$language" "$1."
      else
        printf '%s\n' "$line"
      fi
    done
  fi
}

# Leaves the program of a section so that `run_` runs it.
build_sh() { whole "$1" >"$at/program.sh"; }
run_sh() { sh "$at/program.sh"; }

build_c() {
  whole "$1" >"$at/program.c"
  ${CC:-cc} -std=c11 -Wall -Wextra -Werror -I"$source/include" "$at/program.c" -o "$at/program" -L"$libraries" -lbelay
}
run_c() { "$at/program"; }

build_go() {
  whole "$1" >"$at/main.go"
  test -z "$(gofmt -l "$at/main.go")" || return 1
  printf 'module program\n\ngo 1.22\n\nrequire belay.invalid/belay v0.0.0\n\nreplace belay.invalid/belay => %s\n' "$source/bindings/go" >"$at/go.mod"
  (cd "$at" && GOFLAGS=-buildvcs=false GOTOOLCHAIN=local go build -o program .)
}
run_go() { "$at/program"; }

build_java() {
  local jars=("$work"/belay-*.jar)
  jar=${jars[0]}
  whole "$1" >"$at/Program.java"
  javac -J-XX:TieredStopAtLevel=1 -Xlint:all,-try -Werror -cp "$jar" -d "$at" "$at/Program.java"
}
run_java() { java -XX:TieredStopAtLevel=1 -cp "$jar:$at" Program; }

build_lua() {
  # shellcheck source=/dev/null
  . "$work/env"
  whole "$1" >"$at/program.lua"
}
run_lua() { lua5.4 "$at/program.lua"; }

until_held() { # NAME
  for _ in $(seq 600); do
    if belay inspect --json "$1" | grep -q '"held":true'; then return; fi
    sleep 0.05
  done
  return 1
}

# Runs a program, and what the others do meanwhile. 1: it has failed.
play() { # NUMBER
  local status=0 other
  case $1 in
    2)
      belay run orders:42 -- sleep 60 &
      other=$!
      until_held orders:42 || return 1
      "run_$language" || status=$?
      kill "$other"
      wait "$other" || true ;;
    5)
      { until_held leader && belay break leader; } >"$at/broken" 2>&1 &
      "run_$language" || status=$?
      wait "$!" || return 1
      case $language/$status in
        sh/75) status=0 ;;
        sh/* | */0) status=1 ;;
        *) status=0 ;;
      esac ;;
    *) "run_$language" || status=$? ;;
  esac
  return "$status"
}

passed=0
failed=0
for number in 1 2 3 4 5; do
  at=$here/$number
  mkdir "$at"
  block text "$number." >"$at/expected"
  if "build_$language" "$number" >"$at/errors" 2>&1 && play "$number" >"$at/out" 2>>"$at/errors" && [ -s "$at/expected" ] &&
    diff <(sed -E 's/[0-9]{16}/FENCE/g' "$at/expected") <(sed -E 's/[0-9]{16}/FENCE/g' "$at/out") >>"$at/errors"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "program $number of docs/languages.md failed in $language:"
    cat "$at/errors"
  fi
done
if belay ls --json '*' | grep '"held":true'; then
  failed=$((failed + 1))
  echo "the programs in $language have left this hold"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
