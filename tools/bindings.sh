#!/usr/bin/env bash
# Makes the generated part of the bindings anew: SWIG's wrappers, and constants, errors and their documentation from belay.h.
# tools/bindings.sh [--check] [go | java | lua]. With --check it writes nothing, and fails where the tree is not what it would make.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 bindings/swig/generate.py "$@"
