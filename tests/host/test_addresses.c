// Hosts whose name of the server leads to several addresses.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hostile.h"
#include "interposed.h"

enum { kGuests = 8 };

static const uint32_t kSilent = 0x7f000002;  // 127.0.0.2

// Listens at kSilent, where the system drops what asks for a connection once the queue is full.
static void swallow(uint16_t port) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(kSilent)};
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(bind(listener, (const struct sockaddr*)&address, sizeof address) == 0);
  CHECK(listen(listener, 0) == 0);
  for (int i = 0; i < kGuests; ++i) {
    const int guest = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    CHECK(guest >= 0);
    (void)connect(guest, (const struct sockaddr*)&address, sizeof address);
  }
}

static void test_silent_address(Server* server) {
  char url[64];
  snprintf(url, sizeof url, "redis://localhost:%d", server->port);
  swallow(server->port);
  first_address = kSilent;
  belay_client* client = CLIENT(.url = url);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  server_cut_clients(server);
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

const Test address_tests[] = {
    {"An address that swallows packets hides no other of the server's name", test_silent_address},
    {NULL, NULL}};
