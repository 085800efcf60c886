#!/bin/sh
# build.sh PREFIX BUILD: leaves the agent in Lua as BUILD/lua. BELAY_LUA names the interpreter: lua5.4 (default), lua5.3, lua5.1, luajit.
set -eu
lua=${BELAY_LUA:-lua5.4}
here=$(cd "$(dirname "$0")" && pwd)
tree=$2/lua-tree
"$here/../../../lua/install.sh" "$1" "$lua" "$tree"
cat >"$2/lua" <<END
#!/bin/sh
. "$tree/env"
exec $lua "$here/agent.lua"
END
chmod +x "$2/lua"
