#!/usr/bin/env bash
# Every header under lib/ compiles alone: headers_test.sh LIB COMPILER [FLAG...]. What it forgets to include may come from elsewhere with one
# standard library, and not with the next.
set -euo pipefail
cd "$1"
shift

alone() { # HEADER COMPILER [FLAG...]
  printf '#include "%s"\n' "$1" | "${@:2}" -std=c++20 -fno-exceptions -fno-rtti -Wall -Wextra -Werror -fsyntax-only -x c++ - ||
    { echo "$1 does not compile alone"; exit 1; }
}
export -f alone

mapfile -t headers < <(find . -name '*.h' -printf '%P\n' | sort)
((${#headers[@]} > 30)) || { echo "too few headers were found to believe it"; exit 1; }
# shellcheck disable=SC2016 # the inner bash expands them
printf '%s\0' "${headers[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c 'alone "$@"' alone {} "$@"
echo "${#headers[@]} headers compile alone"
