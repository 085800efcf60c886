#!/bin/sh
# build.sh PREFIX BUILD: leaves the agent in Go as BUILD/go.
set -eu
cd "$(dirname "$0")"
PKG_CONFIG_PATH=$(echo "$1"/lib/pkgconfig "$1"/lib/*/pkgconfig | tr ' ' :)
export PKG_CONFIG_PATH
CGO_LDFLAGS="-Wl,-rpath,$(pkg-config --variable=libdir belay)" GOFLAGS=-buildvcs=false GOTOOLCHAIN=local go build -o "$2/go" .
