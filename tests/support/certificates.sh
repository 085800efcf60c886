#!/bin/sh
# certificates.sh DIRECTORY: makes there, as NAME.pem and NAME.key, two CAs (ca, foreign-ca) and certificates: of servers for localhost and
# 127.0.0.1 (server, expired, foreign), of one elsewhere, of one whose name is only its subject (localhost), and of clients (client, stranger).
set -eu
cd "$1"
exec 3>&2 2>openssl.log
trap '[ $? -eq 0 ] || cat openssl.log >&3' EXIT

make_ca() { # NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.pem" -days 2 -subj "/CN=$1" \
    -addext keyUsage=critical,keyCertSign
}

make() { # NAME CA ALT-NAMES DAYS
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1"
  echo "${3:+subjectAltName=$3}" >"$1.names"
  openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days "$4" -extfile "$1.names" -out "$1.pem"
}

here=DNS:localhost,IP:127.0.0.1
make_ca ca
make_ca foreign-ca
make server ca $here 2
make expired ca $here 0 # at once
make foreign foreign-ca $here 2
make elsewhere ca DNS:elsewhere.invalid,IP:192.0.2.1 2
make localhost ca "" 2
make client ca DNS:client.invalid 2
make stranger foreign-ca DNS:client.invalid 2
