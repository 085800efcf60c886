#!/usr/bin/env bash
# Runs a command in a Debian system of its own: tools/on-debian.sh VERSION COMMAND [ARGUMENT...], such as
# `tools/on-debian.sh 13 tools/test.sh unit`. VERSION is 12 or 13. Needs root, or sudo.
#
# debootstrap makes the system, the barest one, from the mirror that apt uses already. It is kept in build/debian-VERSION, with what commands
# install and build there; remove that folder to start anew. The command runs in /belay, a copy of this repository's tracked files as they are
# in the work tree. Mounts and processes are in namespaces that end with the command: nothing stays mounted, and no process is left.
set -euo pipefail
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
cd "$(dirname "$0")/.."

die() {
  printf 'on-debian: %s\n' "$*" >&2
  exit 70
}

# Runs apt-get quietly; shows its output only where it fails.
apt_get() {
  local output
  output=$(apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" 2>&1) || die "apt-get $1 failed: $output"
}

# The address of the mirror that apt has Debian from, once its lists have been read.
mirror() {
  local uri=
  # shellcheck disable=SC2016 # apt expands it
  read -r uri < <(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' 'Component: main' 'Created-By: Packages') || true
  echo "$uri"
}

# The system appears under its name when it is whole. Called in the namespaces.
make_system() {
  local log=$root.log proxy=
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  rm -rf "$root.new"
  if ! ${proxy:+env "http_proxy=$proxy"} debootstrap --variant=minbase "$suite" "$root.new" "$(mirror)" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    die "debootstrap could not make Debian $version (all it says is in $log)"
  fi
  mv "$root.new" "$root"
}

# What this machine reaches its mirrors and registries with: names, certificates, apt's settings.
copy_network_settings() {
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  mkdir -p "$root/usr/local/share/ca-certificates"
  cp -r /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/" 2>/dev/null || true
  apt-config dump Acquire >"$root/etc/apt/apt.conf.d/99host"
}

# Files keep their times, so that a second build is short; what is not tracked any more goes.
copy_repository() {
  mkdir -p "$root/belay"
  find "$root/belay" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  git -c safe.directory="$PWD" ls-files -z | while IFS= read -r -d '' file; do
    [[ ! -e $file ]] || printf '%s\0' "$file"
  done | tar -c --null -T - | tar -x --no-same-owner -C "$root/belay"
}

# The names and values to pass on: of proxies, registries and the tests, and of a compiler cache.
environment() {
  env -0 | grep -zE '^(https?_proxy|no_proxy|HTTPS?_PROXY|NO_PROXY|GOPROXY|PIP_INDEX_URL|TERM|CI|BELAY_TEST_[A-Z]*|CMAKE_[A-Z_]*_LAUNCHER|CCACHE_[A-Z]*)='
}

# Lends the system this machine's cache, where compilers are told to use it.
lend_compiler_cache() {
  if [[ ${CMAKE_CXX_COMPILER_LAUNCHER:-} != ccache ]]; then return; fi
  local cache
  cache=$(ccache --get-config cache_dir)
  if ! [[ -x $root/usr/bin/ccache ]]; then
    chroot "$root" apt-get -q -y update >/dev/null && chroot "$root" apt-get -q -y install --no-install-recommends ccache >/dev/null
  fi
  mkdir -p "$root/var/cache/ccache"
  mount --bind "$cache" "$root/var/cache/ccache"
  export CCACHE_DIR=/var/cache/ccache
}

run() { # COMMAND...; the first process of its namespaces
  [[ -d $root ]] || make_system
  copy_network_settings
  copy_repository
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  lend_compiler_cache
  local variables
  mapfile -d '' -t variables < <(environment)
  chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "${variables[@]}" \
    bash -c 'cd /belay && exec "$@"' command "$@"
}

(($# >= 2)) || die "usage: tools/on-debian.sh VERSION COMMAND [ARGUMENT...]"
version=$1
case $version in
  12) suite=bookworm ;;
  13) suite=trixie ;;
  *) die "'$version' is no version of Debian that Belay is tried on: there are 12 and 13" ;;
esac
root=$PWD/build/debian-$version
if [[ ${BELAY_ON_DEBIAN:-} == inside ]]; then
  unset BELAY_ON_DEBIAN
  run "${@:2}"
  exit
fi

if ((EUID != 0)); then
  command -v sudo >/dev/null || die "run this as root (there is no sudo)"
  exec sudo -- bash "$(realpath "$0")" "$@"
fi
command -v apt-get >/dev/null || die "needs a machine with apt: the mirror and its settings are taken from there"
if [[ ! -d $root ]] && { ! command -v debootstrap >/dev/null || [[ -z $(mirror) ]]; }; then
  apt_get update
  apt_get install --no-install-recommends debootstrap debian-archive-keyring
fi
[[ -d $root || -n $(mirror) ]] || die "apt's sources hold no main archive of Debian"
mkdir -p build
exec 9>"$root.lock"
flock 9
# In the background, so that a signal ends it at once; there bash ignores what the command must not.
BELAY_ON_DEBIAN=inside unshare --mount --propagation private --pid --fork --kill-child --mount-proc \
  env --default-signal=INT,QUIT bash "$0" "$@" <&0 9>&- &
child=$!
trap 'kill -KILL "$child" 2>/dev/null' INT TERM HUP
wait "$child"
