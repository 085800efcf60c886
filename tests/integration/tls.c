#include "tls.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"

void tls_make_certificates(const Server* server) {
  char command[256];
  snprintf(command, sizeof command, "'%s' '%s'", BELAY_CERTIFICATES, server->directory);
  CHECK_INT(0, system(command));
}

static char* next_text(void) {
  static char texts[32][128];
  static unsigned next;
  return texts[next++ % 32];
}

const char* tls_path(const Server* server, const char* file) {
  char* path = next_text();
  snprintf(path, 128, "%s/%s", server->directory, file);
  return path;
}

const char* tls_url(const char* host, uint16_t port) {
  char* url = next_text();
  snprintf(url, 128, "rediss://%s:%d", host, port);
  return url;
}

void tls_use_certificate(const Server* server, const char* certificate) {
  char file[32];
  char key[32];
  snprintf(file, sizeof file, "%s.pem", certificate);
  snprintf(key, sizeof key, "%s.key", certificate);
  // Both at once: one alone would not fit the other.
  CHECK_TEXT("OK", server_ask(server, "CONFIG", "SET", "tls-cert-file", tls_path(server, file),
                              "tls-key-file", tls_path(server, key), NULL));
}

static void listen_with(const Server* server, uint16_t port, const char* certificate) {
  char text[16];
  snprintf(text, sizeof text, "%d", port);
  server_tell(server, "CONFIG", "SET", "tls-ca-cert-file", tls_path(server, "ca.pem"), NULL);
  server_tell(server, "CONFIG", "SET", "tls-auth-clients", "no", NULL);
  tls_use_certificate(server, certificate);
  server_tell(server, "CONFIG", "SET", "tls-port", text, NULL);
}

uint16_t tls_listen(const Server* server, const char* certificate) {
  const uint16_t port = free_port();
  listen_with(server, port, certificate);
  return port;
}

void tls_serve(Server* server) {
  if (server->tls_port == 0) {
    tls_make_certificates(server);
    setenv("BELAY_TLS_CA_FILE", tls_path(server, "ca.pem"), 1);
    server->tls_port = free_port();
    snprintf(server->url, sizeof server->url, "rediss://127.0.0.1:%d", server->tls_port);
  }
  listen_with(server, server->tls_port, "server");
}
