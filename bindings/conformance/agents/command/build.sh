#!/bin/sh
# build.sh PREFIX BUILD: leaves the agent of the command under PREFIX as BUILD/command.
set -eu
cd "$(dirname "$0")"
cat > "$2/command" <<END
#!/bin/sh
BELAY_BIN='$1/bin/belay' LD_LIBRARY_PATH='$1/lib:$(ls -d "$1"/lib/*-linux-gnu 2>/dev/null || true)' exec python3 '$PWD/agent.py'
END
chmod +x "$2/command"
