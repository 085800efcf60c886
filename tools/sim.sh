#!/usr/bin/env bash
# Simulated schedules of the real engine and scripts, on every core: tools/sim.sh SCHEDULES [SEED]. --replay SEED shows one step by
# step, --minimise SEED what is left of one that goes wrong without what does not matter. --digest SCHEDULES [SEED] prints one hash over all
# commands and events of those.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install-deps.sh
tools/build.sh release sim
exec build/release/tests/sim/sim "$@"
