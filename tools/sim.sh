#!/usr/bin/env bash
# Simulated schedules of the real engine and scripts: tools/sim.sh SCHEDULES [SEED], or --replay SEED to see one step by step.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install-deps.sh
tools/build.sh release sim
exec build/release/tests/sim/sim "$@"
