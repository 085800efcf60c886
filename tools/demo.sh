#!/usr/bin/env bash
# From a bare machine to two processes that take turns on one lock, against private servers that this script starts and stops.
# tools/demo.sh: on one server; then the holder is killed, and the other takes over.
# tools/demo.sh --sentinel: on a master with two replicas and three sentinels; the master is killed meanwhile.
# tools/demo.sh --cluster: on three masters with a replica each, for three locks at a time, one on each master; slots move, and a master is
# killed meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
  '') servers=launch_server.py ;;
  --sentinel) servers=trio.py ;;
  --cluster) servers=cluster.py ;;
  *) echo "tools/demo.sh: there is no '$1', only --sentinel and --cluster" >&2 && exit 64 ;;
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

take_turns() { # ROUNDS NAME...
  "$turns" alice "$1" "$here/turn" "${@:2}" &
  alice=$!
  "$turns" bob "$1" "$here/turn" "${@:2}" &
  bob=$!
}

tell() { # COMMAND...; the servers' answer is $said
  echo "$@" >&"${COPROC[1]}"
  read -r said <&"${COPROC[0]}"
}

kill_the_holder() {
  "$turns" carol 0 "$here/last" demo &
  carol=$!
  disown "$carol"
  until "$belay" inspect demo | grep -q carol; do sleep 0.05; done
  "$turns" dave 1 "$here/last" demo &
  dave=$!
  until "$belay" inspect demo | grep -q dave; do sleep 0.05; done
  "$belay" inspect demo
  killed=$(date +%s%N)
  kill -9 "$carol"
  wait "$dave"
  echo "dave took over and finished $((($(date +%s%N) - killed) / 1000000)) ms after the kill"
}

kill_the_master() {
  sleep 1
  tell kill
  echo "--- the master $said is killed"
  tell replace
  echo "--- the sentinels have made $said the master"
}

# Of one name the slot moves, twice; of another one the master is killed.
disturb_the_cluster() { # NAME NAME
  for _ in 1 2; do
    sleep 1
    tell move "$1"
    echo "--- the slot of $1 has moved to $said"
  done
  sleep 1
  tell kill "$2"
  echo "--- the master $said, which has $2, is killed"
  tell replace "$2"
  echo "--- its replica $said has become the master"
}

if [[ $servers == trio.py ]]; then
  export BELAY_URL="${answer[0]}?log_events=warning"
  echo "--- two processes take turns"
  take_turns 10 demo
  kill_the_master
  wait "$alice" "$bob"
elif [[ $servers == cluster.py ]]; then
  export BELAY_URL="${answer[0]}?log_events=warning"
  names=("${answer[@]:1}")
  echo "--- two processes take turns on ${#names[@]} locks at a time, each on a master of its own:"
  for name in "${names[@]}"; do "$belay" inspect "$name"; done
  take_turns 20 "${names[@]}"
  disturb_the_cluster "${names[0]}" "${names[1]}"
  wait "$alice" "$bob"
else
  export BELAY_URL="unix://${answer[2]}"
  echo "--- two processes take turns"
  take_turns 5 demo
  wait "$alice" "$bob"
  echo "--- carol holds it and is killed (kill -9); dave, who waits, takes over when her lease of 3 s ends"
  kill_the_holder
fi
