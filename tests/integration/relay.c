#include "relay.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "server.h"
#include "support.h"

// Passes `most` bytes at most. How many those were; 0: one of both has ended.
static int64_t pass(const RelayState* state, int from, int to, int64_t most) {
  char bytes[4096];
  const ssize_t size =
      read(from, bytes, most < (int64_t)sizeof bytes ? (size_t)most : sizeof bytes);
  for (ssize_t at = 0; at < size;) {
    const ssize_t step = state->one_by_one ? 1 : size - at;
    if (send(to, bytes + at, (size_t)step, MSG_NOSIGNAL) != step) {
      return 0;
    }
    at += step;
  }
  return size > 0 ? size : 0;
}

// One connection of a client's and ours to the port, until either has ended or enough was passed.
static void serve(RelayState* state, int client, int server) {
  const int yes = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const int64_t cut_after = state->cut_after;
  struct pollfd ready[] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
  int64_t passed = 0;
  while (poll(ready, 2, -1) > 0) {
    if (ready[0].revents != 0 && pass(state, client, server, INT64_MAX) == 0) {
      return;
    }
    if (ready[1].revents != 0 && passed != cut_after) {
      const int64_t more =
          pass(state, server, client, cut_after < 0 ? INT64_MAX : cut_after - passed);
      if (more == 0) {
        return;
      }
      passed += more;
    }
    if (ready[1].revents != 0 && passed == cut_after) {
      state->cuts += 1;
      return;
    }
  }
}

static _Noreturn void run(RelayState* state, int listener, uint16_t port) {
  for (;;) {
    const int client = accept(listener, NULL, NULL);
    if (client < 0) {
      continue;
    }
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(listener);
      const int server = dial_port(port);
      CHECK(server >= 0);
      serve(state, client, server);
      _exit(0);
    }
    close(client);
  }
}

Relay relay_start(uint16_t port) {
  Relay relay = {.state = shared_memory(sizeof *relay.state), .port = free_port()};
  relay.state->cut_after = -1;
  const int listener = listen_on(relay.port);
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_IGN);  // nobody waits for those of single connections
    run(relay.state, listener, port);
  }
  close(listener);
  return relay;
}
