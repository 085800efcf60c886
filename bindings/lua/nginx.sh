#!/usr/bin/env bash
# nginx.sh DIR: makes DIR and unpacks Debian's nginx with Lua there. Its LuaJIT must not replace the one that others need, so nothing
# is installed.
set -euo pipefail
mkdir "$1"
cd "$1"
apt-get download -qq -o APT::Sandbox::User=root nginx libnginx-mod-http-ndk libnginx-mod-http-lua lua-resty-core lua-resty-lrucache \
  libluajit2-5.1-2 libluajit2-5.1-common libpcre3
for package in *.deb; do
  dpkg -x "$package" .
done
