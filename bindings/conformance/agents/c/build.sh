#!/bin/sh
# build.sh PREFIX BUILD: leaves the agent in C as BUILD/c.
set -eu
cd "$(dirname "$0")"
PKG_CONFIG_PATH=$(echo "$1"/lib/pkgconfig "$1"/lib/*/pkgconfig | tr ' ' :)
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
${CC:-cc} -std=gnu11 -O1 -g -Wall -Wextra -Werror agent.c -o "$2/c" $(pkg-config --cflags --libs belay) \
  -Wl,-rpath,"$(pkg-config --variable=libdir belay)"
