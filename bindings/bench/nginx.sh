#!/usr/bin/env bash
# nginx.sh PREFIX: how long nginx takes for a request while 200 others wait for a lock, beside no others, with the libbelay and the
# command that are installed under PREFIX. Rounds of both alternate.
set -euo pipefail
prefix=$(realpath "$1")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
../lua/nginx.sh "$work/nginx"
../lua/install.sh "$prefix" luajit "$work/luajit" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
# shellcheck source=/dev/null
. "$work/luajit/env"
export PATH=$prefix/bin:$PATH
python3 -B nginx.py "$work"
