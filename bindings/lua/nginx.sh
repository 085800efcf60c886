#!/usr/bin/env bash
# nginx.sh DIR: makes DIR and unpacks Debian's nginx with Lua there. Its LuaJIT is that of
# tools/install-deps.sh; nothing is installed, so that no nginx is started.
set -euo pipefail
mkdir "$1"
cd "$1"
apt-get download -qq -o APT::Sandbox::User=root nginx libnginx-mod-http-ndk libnginx-mod-http-lua lua-resty-core lua-resty-lrucache libpcre3
for package in *.deb; do
  dpkg -x "$package" .
done
