#!/bin/sh
# install.sh PREFIX LUA TREE: builds the rock for an interpreter (lua5.4, lua5.3, lua5.1, luajit) with the libbelay that is installed
# under PREFIX, and installs it to TREE. TREE/env has what a shell must set to use it.
set -eu
case $2 in
  luajit) version=5.1 include=/usr/include/luajit-2.1 ;;
  *) version=${2#lua} include=/usr/include/$2 ;;
esac
library=$(dirname "$(find -L "$1"/lib -name libbelay.so | head -n 1)")
mkdir -p "$3"
source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
cp -R "$(dirname "$0")"/belay "$(dirname "$0")"/native "$(dirname "$0")"/belay-scm-1.rockspec "$source"
(cd "$source" && luarocks --lua-version "$version" --tree "$3" make belay-scm-1.rockspec \
  BELAY_INCDIR="$1/include" BELAY_LIBDIR="$library" LUA_INCDIR="$include")
cat >"$3/env" <<END
export LUA_PATH="$3/share/lua/$version/?.lua;$3/share/lua/$version/?/init.lua;;"
export LUA_CPATH="$3/lib/lua/$version/?.so;;"
export LD_LIBRARY_PATH="$library\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
END
