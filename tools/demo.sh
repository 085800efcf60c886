#!/usr/bin/env bash
# From a bare machine to two processes that take turns on one lock, against a private server that this script starts and stops; then the
# holder is killed and the other takes over.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install-deps.sh
tools/build.sh release belay_cli demo_turns

# Server and folder end with this script.
coproc tests/support/launch_server.py redis-server
read -r _ _ socket <&"${COPROC[0]}"
here=${socket%/*}
export BELAY_URL="unix://$socket"
carol=
trap 'kill $(jobs -p) $carol 2>/dev/null || true; wait 2>/dev/null || true' EXIT
turns=build/release/tools/demo_turns
belay=build/release/tools/belay

echo "--- two processes take turns"
"$turns" alice 5 "$here/turn" &
alice=$!
"$turns" bob 5 "$here/turn" &
bob=$!
wait "$alice" "$bob"

echo "--- carol holds it and is killed (kill -9); dave, who waits, takes over when her lease of 3 s ends"
"$turns" carol 0 "$here/last" &
carol=$!
disown "$carol"
until "$belay" inspect demo | grep -q carol; do sleep 0.05; done
"$turns" dave 1 "$here/last" &
dave=$!
until "$belay" inspect demo | grep -q dave; do sleep 0.05; done
"$belay" inspect demo
killed=$(date +%s%N)
kill -9 "$carol"
wait "$dave"
echo "dave took over and finished $((($(date +%s%N) - killed) / 1000000)) ms after the kill"
