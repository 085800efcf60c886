#include "proxy.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "support.h"

enum { kMaxPairs = 256, kReadSize = 65536 };

// Bytes on their way.
typedef struct Chunk {
  struct Chunk* next;
  int64_t due_us;
  size_t size;
  char bytes[];
} Chunk;

typedef struct Way {
  int from;
  int to;
  Chunk* first;
  Chunk* last;
} Way;

// A connection of a client and ours to the server.
typedef struct Pair {
  Way up;        // client to server
  Way down;      // server to client
  char* unread;  // what the server sent of a reply that is not whole yet
  size_t unread_size;
  bool drops_reply;
  bool is_ghost;  // its client is gone; `up` keeps what it said last
} Pair;

static ProxyState* state;
static Pair* pairs[kMaxPairs];
static int pair_count;

static int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

// ---- Pairs

static void add_chunk(Way* way, const char* bytes, size_t size) {
  Chunk* chunk = malloc(sizeof *chunk + size);
  CHECK(chunk != NULL);
  *chunk = (Chunk){.due_us = now_us() + state->delay_us, .size = size};
  memcpy(chunk->bytes, bytes, size);
  if (way->last == NULL) {
    way->first = chunk;
  } else {
    way->last->next = chunk;
  }
  way->last = chunk;
}

static void remove_chunk(Way* way) {
  Chunk* chunk = way->first;
  way->first = chunk->next;
  if (way->first == NULL) {
    way->last = NULL;
  }
  free(chunk);
}

static void end_pair(Pair* pair) {
  close(pair->up.to);
  if (!pair->is_ghost) {
    close(pair->up.from);
  }
  while (pair->up.first != NULL) {
    remove_chunk(&pair->up);
  }
  while (pair->down.first != NULL) {
    remove_chunk(&pair->down);
  }
  free(pair->unread);
  int at = 0;
  while (pairs[at] != pair) {
    ++at;
  }
  pairs[at] = pairs[--pair_count];
  free(pair);
}

static void add_pair(int listener, uint16_t port) {
  const int client = accept(listener, NULL, NULL);
  const int server = dial_port(port);
  if (client < 0 || server < 0 || pair_count == kMaxPairs) {
    close(client);
    close(server);
    return;
  }
  const int yes = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  Pair* pair = calloc(1, sizeof *pair);
  CHECK(pair != NULL);
  pair->up = (Way){.from = client, .to = server};
  pair->down = (Way){.from = server, .to = client};
  pairs[pair_count++] = pair;
}

// ---- From the client

// Returns false if the pair is gone.
static bool take_from_client(Pair* pair, const char* bytes, size_t size) {
  const bool is_call = memmem(bytes, size, "\r\nEVAL", 6) != NULL;
  const int fault = is_call ? atomic_exchange(&state->fault, kNoFault) : kNoFault;
  state->faults += fault != kNoFault;
  switch (fault) {
    case kCutBefore:
      end_pair(pair);
      return false;
    case kCutDuring:
      if (write(pair->up.to, bytes, size / 2) < 0) {
        abort();
      }
      end_pair(pair);
      return false;
    case kGhost:
      close(pair->up.from);
      pair->is_ghost = true;
      break;
    default:
      pair->drops_reply = pair->drops_reply || fault == kCutAfter;
      break;
  }
  add_chunk(&pair->up, bytes, size);
  return true;
}

// ---- From the server

// How many bytes the first whole RESP3 value takes; 0 if it is not whole yet.
static size_t value_size(const char* bytes, size_t size) {
  const char* end = memmem(bytes, size, "\r\n", 2);
  if (end == NULL) {
    return 0;
  }
  const size_t line = (size_t)(end - bytes) + 2;
  const long number = strtol(bytes + 1, NULL, 10);
  if (strchr("$=!", bytes[0]) != NULL) {
    const size_t whole = number < 0 ? line : line + (size_t)number + 2;
    return whole <= size ? whole : 0;
  }
  if (strchr("*>~%", bytes[0]) == NULL) {
    return line;
  }
  size_t whole = line;
  for (long i = 0; i < (bytes[0] == '%' ? 2 * number : number); ++i) {
    const size_t element = value_size(bytes + whole, size - whole);
    if (element == 0) {
      return 0;
    }
    whole += element;
  }
  return whole;
}

static bool is_dropped(const char* bytes, size_t size) {
  return state->drops_pushes && bytes[0] == '>' && memmem(bytes, size, "subscribe\r\n", 11) == NULL;
}

// Passes on whole values only, so that some can be left out. Returns false if the pair is gone.
static bool take_from_server(Pair* pair, const char* bytes, size_t size) {
  if (pair->drops_reply) {
    end_pair(pair);
    return false;
  }
  if (pair->is_ghost) {
    return true;
  }
  pair->unread = realloc(pair->unread, pair->unread_size + size);
  CHECK(pair->unread != NULL);
  memcpy(pair->unread + pair->unread_size, bytes, size);
  pair->unread_size += size;
  size_t at = 0;
  for (size_t whole; (whole = value_size(pair->unread + at, pair->unread_size - at)) > 0;
       at += whole) {
    if (is_dropped(pair->unread + at, whole)) {
      ++state->pushes_dropped;
    } else {
      add_chunk(&pair->down, pair->unread + at, whole);
    }
  }
  pair->unread_size -= at;
  memmove(pair->unread, pair->unread + at, pair->unread_size);
  return true;
}

// ---- The loop

// Returns false if the pair is gone.
static bool read_way(Pair* pair, bool is_up) {
  static char bytes[kReadSize];
  const ssize_t size = recv(is_up ? pair->up.from : pair->down.from, bytes, sizeof bytes, 0);
  if (size <= 0) {
    state->ghosts_killed += pair->is_ghost && pair->up.first != NULL;
    end_pair(pair);
    return false;
  }
  return is_up ? take_from_client(pair, bytes, (size_t)size)
               : take_from_server(pair, bytes, (size_t)size);
}

// Whatever is due goes out; a receiver that is gone shows when its side is read. A ghost's bytes go
// when it may speak.
static void write_way(Pair* pair, Way* way) {
  if (pair->is_ghost && !state->let_ghosts_speak) {
    return;
  }
  while (way->first != NULL && (pair->is_ghost || way->first->due_us <= now_us())) {
    if (send(way->to, way->first->bytes, way->first->size, MSG_NOSIGNAL) < 0 && errno == EINTR) {
      continue;
    }
    state->ghosts_heard += pair->is_ghost;
    remove_chunk(way);
  }
}

// Polls what may be read, for as long as nothing is due and nobody could have changed the state.
static void poll_all(struct pollfd* polled, int listener) {
  int64_t until = now_us() + 2000;
  polled[0] = (struct pollfd){.fd = listener, .events = POLLIN};
  for (int i = 0; i < pair_count; ++i) {
    const Pair* pair = pairs[i];
    polled[2 * i + 1] =
        (struct pollfd){.fd = pair->is_ghost ? -1 : pair->up.from, .events = POLLIN};
    polled[2 * i + 2] = (struct pollfd){.fd = pair->down.from, .events = POLLIN};
    const Chunk* const firsts[] = {pair->up.first, pair->down.first};
    for (int way = 0; way < 2; ++way) {
      if (firsts[way] != NULL && !pair->is_ghost && firsts[way]->due_us < until) {
        until = firsts[way]->due_us;
      }
    }
  }
  const int64_t left = until - now_us();
  const struct timespec pause = {.tv_nsec = left > 0 ? left * 1000 : 0};
  ppoll(polled, (nfds_t)(2 * pair_count + 1), &pause, NULL);
}

static _Noreturn void run_proxy(int listener, uint16_t port) {
  static struct pollfd polled[2 * kMaxPairs + 1];
  for (;;) {
    poll_all(polled, listener);
    if (state->is_silent) {
      nap();
      continue;
    }
    // From the last on: a pair that ends is replaced by the last one.
    for (int i = pair_count - 1; i >= 0; --i) {
      Pair* pair = pairs[i];
      const bool is_alive = (polled[2 * i + 1].revents == 0 || read_way(pair, true)) &&
                            (polled[2 * i + 2].revents == 0 || read_way(pair, false));
      if (is_alive) {
        write_way(pair, &pair->up);
        write_way(pair, &pair->down);
      }
    }
    if (polled[0].revents != 0) {
      add_pair(listener, port);
    }
  }
}

Proxy proxy_start(const Server* server) {
  Proxy proxy = {.state = shared_memory(sizeof *proxy.state)};
  state = proxy.state;
  const uint16_t port = free_port();
  const int listener = listen_on(port);
  const pid_t parent = getpid();
  proxy.pid = fork();
  CHECK(proxy.pid >= 0);
  if (proxy.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
      _exit(1);
    }
    run_proxy(listener, server->port);
  }
  close(listener);
  snprintf(proxy.url, sizeof proxy.url, "redis://127.0.0.1:%d", port);
  return proxy;
}

void proxy_break_next(const Proxy* proxy, int fault) {
  proxy->state->fault = fault;
}
