#!/usr/bin/env bash
# Runs README's example of a binding on a server of its own: quickstart_test.sh go|java|lua PREFIX WORK. PREFIX: where libbelay is
# installed. WORK: of Lua, where install.sh has put the rock; of Java, the folder of the jar; of Go, any folder.
set -euo pipefail
language=$1
prefix=$(realpath "$2")
work=$(realpath "$3")
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")

# Server and folder end with this script.
coproc "$source/tests/support/launch_server.py" redis-server
read -r _ _ socket <&"${COPROC[0]}"
here=${socket%/*}
export BELAY_URL="unix://$socket"
libraries=$(dirname "$(find "$prefix" -name libbelay.so | head -n 1)")
export LD_LIBRARY_PATH="$libraries" PKG_CONFIG_PATH="$libraries/pkgconfig"

block() { awk -v start="^\`\`\`$language\$" '$0 ~ start { inside = 1; next } /^```$/ { inside = 0 } inside' "$source/README.md"; }

run_go() {
  cat >"$here/main.go" <<END
package main

import (
	"context"
	"fmt"

	"belay.invalid/belay"
)

func charge(ctx context.Context, fence int64) error {
	fmt.Println("charging under fence", fence)
	return ctx.Err()
}

func order(ctx context.Context, client *belay.Client) error {
$(block)
}

func main() {
	client, err := belay.Open("")
	if err != nil {
		panic(err)
	}
	defer client.Close()
	if err := order(context.Background(), client); err != nil {
		panic(err)
	}
}
END
  printf 'module quickstart\n\ngo 1.22\n\nrequire belay.invalid/belay v0.0.0\n\nreplace belay.invalid/belay => %s\n' "$source/bindings/go" >"$here/go.mod"
  (cd "$here" && GOFLAGS=-buildvcs=false GOTOOLCHAIN=local go run .)
}

run_java() {
  cat >"$here/Quickstart.java" <<END
import invalid.belay.*;
import java.time.Duration;

class Quickstart {
  static void charge(long fence) {
    System.out.println("charging under fence " + fence);
  }

  public static void main(String[] args) throws Exception {
    Thread worker = Thread.currentThread();
$(block)
  }
}
END
  local jars=("$work"/belay-*.jar)
  java -XX:TieredStopAtLevel=1 -cp "${jars[0]}" "$here/Quickstart.java"
}

run_lua() {
  {
    echo 'local belay = require "belay"'
    echo 'local function charge(fence) print("charging under fence " .. fence) end'
    echo 'do'
    block
    echo 'end'
  } >"$here/quickstart.lua"
  # shellcheck source=/dev/null
  (. "$work/env" && lua5.4 "$here/quickstart.lua")
}

"run_$language" >"$here/out"
grep -qx 'charging under fence [0-9]*' "$here/out"
[ "$(redis-cli -s "$socket" --scan --pattern 'belay:r*' | wc -l)" -eq 0 ] # and it was released
