#!/usr/bin/env bash
# From a bare machine to two processes that take turns on one lock, against private servers that this script starts and stops.
# tools/demo.sh: on one server; then the holder is killed, and the other takes over.
# tools/demo.sh --sentinel: on a master with two replicas and three sentinels; the master is killed meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
  '') servers=launch_server.py ;;
  --sentinel) servers=trio.py ;;
  *) echo "tools/demo.sh: there is no '$1', only --sentinel" >&2 && exit 64 ;;
esac

tools/install-deps.sh
tools/build.sh release belay_cli demo_turns

# The servers end with this script.
coproc "tests/support/$servers"
read -r -a answer <&"${COPROC[0]}"
here=$(mktemp -d)
carol=
trap 'kill $(jobs -p) $carol 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$here"' EXIT
turns=build/release/tools/demo_turns
belay=build/release/tools/belay

take_turns() { # ROUNDS
  "$turns" alice "$1" "$here/turn" &
  alice=$!
  "$turns" bob "$1" "$here/turn" &
  bob=$!
}

kill_the_holder() {
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
}

kill_the_master() {
  local master
  sleep 1
  echo kill >&"${COPROC[1]}"
  read -r master <&"${COPROC[0]}"
  echo "--- the master $master is killed"
  echo replace >&"${COPROC[1]}"
  read -r master <&"${COPROC[0]}"
  echo "--- the sentinels have made $master the master"
}

if [[ $servers == trio.py ]]; then
  export BELAY_URL="${answer[0]}?log_events=warning"
  echo "--- two processes take turns"
  take_turns 10
  kill_the_master
  wait "$alice" "$bob"
else
  export BELAY_URL="unix://${answer[2]}"
  echo "--- two processes take turns"
  take_turns 5
  wait "$alice" "$bob"
  echo "--- carol holds it and is killed (kill -9); dave, who waits, takes over when her lease of 3 s ends"
  kill_the_holder
fi
