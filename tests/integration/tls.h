// What a server and a client need for TLS: certificates, made by certificates.sh, and a port of the
// server's that demands it, beside the plain one.
#pragma once

#include "server.h"

// Makes the certificates in the server's directory.
void tls_make_certificates(const Server* server);
// Where a file of theirs is, until thirty calls later.
const char* tls_path(const Server* server, const char* file);
// Has the server speak TLS on a port of its own, with this certificate: rediss://127.0.0.1:port.
// Returns that port.
uint16_t tls_listen(const Server* server, const char* certificate);
// Makes TLS the server's way, of its URL and of clients that say nothing else, also when it has
// been started again.
void tls_serve(Server* server);
// Of what connects from now on.
void tls_use_certificate(const Server* server, const char* certificate);
// The URL of a port of this machine's, with its name or address, until thirty calls later.
const char* tls_url(const char* host, uint16_t port);
