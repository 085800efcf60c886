#include "server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "tls.h"

enum { kMaxWords = 40, kReplySize = 65536 };

static struct sockaddr_in local(uint16_t port) {
  struct sockaddr_in address = {0};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

uint16_t free_port(void) {
  static unsigned salt;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const unsigned mixed =
        ((unsigned)getpid() * 2654435761U) ^ ((unsigned)now_ms() * 40503U) ^ (++salt * 7919U);
    const uint16_t port = (uint16_t)(12000 + mixed % 20000);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const struct sockaddr_in address = local(port);
    const bool is_free = bind(fd, (const struct sockaddr*)&address, sizeof address) == 0;
    close(fd);
    if (is_free) {
      return port;
    }
  }
  FAIL("no port of 127.0.0.1 is free");
}

int listen_on(uint16_t port) {
  const struct sockaddr_in address = local(port);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  CHECK(bind(listener, (const struct sockaddr*)&address, sizeof address) == 0);
  CHECK(listen(listener, 16) == 0);
  return listener;
}

int dial_port(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const struct sockaddr_in address = local(port);
  if (connect(fd, (const struct sockaddr*)&address, sizeof address) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

static void launch_as(Server* server, const char* const* words) {
  CHECK(launch_start(&server->launch, words));
  server->directory = server->launch.directory;
  server->port = (uint16_t)server->launch.port;
  snprintf(server->url, sizeof server->url, "redis://127.0.0.1:%d", server->port);
  snprintf(server->unix_url, sizeof server->unix_url, "unix://%s", server->launch.socket);
}

static void prefer_tls(Server* server) {
  if (getenv("BELAY_TEST_TLS") != NULL) {
    tls_serve(server);
  }
}

void server_launch_with(Server* server, const char* const* words) {
  memset(server, 0, sizeof *server);
  server->program = words[0];
  launch_as(server, words);
}

void server_launch(Server* server, const char* program) {
  server_launch_with(server, (const char* const[]){program, "--databases", "4", NULL});
  prefer_tls(server);
}

const char* server_address(const Server* server) {
  static char address[32];
  snprintf(address, sizeof address, "127.0.0.1:%d",
           server->tls_port != 0 ? server->tls_port : server->port);
  return address;
}

void server_relaunch_with_clock(Server* server) {
  const int fd = memfd_create("clock", MFD_CLOEXEC);
  CHECK(fd >= 0 && ftruncate(fd, sizeof *server->ahead_s) == 0);
  void* memory = mmap(NULL, sizeof *server->ahead_s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(memory != MAP_FAILED);
  server->ahead_s = memory;
  char clock[64];  // stays open for further starts
  snprintf(clock, sizeof clock, "BELAY_TEST_CLOCK=/proc/%d/fd/%d", getpid(), fd);
  launch_end(&server->launch);
  launch_as(server, (const char* const[]){"env", "LD_PRELOAD=" BELAY_STEP_CLOCK, clock,
                                          server->program, "--databases", "4", NULL});
}

void server_start(Server* server) {
  const char* words[kMaxWords] = {"start"};
  memcpy(words + 1, server->options, sizeof server->options);
  CHECK(launch_tell(&server->launch, words));
  prefer_tls(server);
}

void server_kill(Server* server) {
  CHECK(LAUNCH_TELL(&server->launch, "kill"));
}

void server_pause(Server* server) {
  CHECK(LAUNCH_TELL(&server->launch, "pause"));
}

void server_continue(Server* server) {
  CHECK(LAUNCH_TELL(&server->launch, "continue"));
}

// ---- Commands

static bool send_words(int fd, const char* const* words, int count) {
  char bytes[4096];
  size_t size = (size_t)snprintf(bytes, sizeof bytes, "*%d\r\n", count);
  for (int i = 0; i < count; ++i) {
    size += (size_t)snprintf(bytes + size, sizeof bytes - size, "$%zu\r\n%s\r\n", strlen(words[i]),
                             words[i]);
    CHECK(size < sizeof bytes);
  }
  return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static void append(char* text, const char* more, size_t size) {
  const size_t length = strlen(text);
  CHECK(length + size + 2 < kReplySize);
  memcpy(text + length, more, size);
  text[length + size] = '\0';
}

// Reads one reply, arrays with their elements.
static void read_reply(FILE* stream, char* text) {
  char line[1024];
  CHECK(fgets(line, sizeof line, stream) != NULL);
  const long number = strtol(line + 1, NULL, 10);
  const size_t length = strcspn(line, "\r\n");
  if (line[0] == '*') {
    for (long i = 0; i < number; ++i) {
      if (i > 0) {
        append(text, "\n", 1);
      }
      read_reply(stream, text);
    }
  } else if (line[0] == '$' && number >= 0) {
    char* bytes = malloc((size_t)number + 2);
    CHECK(bytes != NULL && fread(bytes, 1, (size_t)number + 2, stream) == (size_t)number + 2);
    append(text, bytes, (size_t)number);
    free(bytes);
  } else if (line[0] == '-') {
    append(text, line, length);
  } else if (line[0] != '$') {
    append(text, line + 1, length - 1);
  }
}

// Where libuv uses io_uring, a thread that has freed a client may see EINTR once without any
// signal: reading must not have a limit of its own, which would make the system tell us.
// False: nothing, as the server has cut everybody off before it answered. One that sentinels make a
// replica does so.
static bool ask_for(int fd, const char* const* words, int count, FILE* stream, char* text) {
  if (!send_words(fd, words, count)) {
    return false;
  }
  struct pollfd readable = {.fd = fd, .events = POLLIN};
  EVENTUALLY(poll(&readable, 1, 100) == 1);
  char first;
  if (recv(fd, &first, 1, MSG_PEEK) != 1) {
    return false;
  }
  text[0] = '\0';
  read_reply(stream, text);
  return true;
}

// As a user with the password s3cret, or the default one where it is NULL.
static bool ask_once(uint16_t port, const char* user, const char* const* words, int count,
                     char* text) {
  const int fd = dial_port(port);
  CHECK(fd >= 0);
  FILE* stream = fdopen(fd, "r");
  CHECK(stream != NULL);
  bool answered = true;
  if (user != NULL) {
    answered = ask_for(fd, (const char* const[]){"AUTH", user, "s3cret"}, 3, stream, text);
    CHECK(!answered || strcmp(text, "OK") == 0);
  }
  answered = answered && ask_for(fd, words, count, stream, text);
  fclose(stream);
  return answered;
}

static const char* ask_at(uint16_t port, const char* user, const char* const* words, int count) {
  static char text[kReplySize];
  EVENTUALLY(ask_once(port, user, words, count, text));
  return text;
}

static const char* ask(const Server* server, const char* user, const char* first, va_list rest) {
  const char* words[kMaxWords];
  int count = 0;
  for (const char* word = first; word != NULL; word = va_arg(rest, const char*)) {
    CHECK(count < kMaxWords);
    words[count++] = word;
  }
  const char* const reply = ask_at(server->port, user, words, count);
  if (strncmp(reply, "-MOVED ", strlen("-MOVED ")) != 0) {
    return reply;
  }
  return ask_at((uint16_t)atoi(strrchr(reply, ':') + 1), user, words, count);
}

const char* server_ask(const Server* server, const char* word, ...) {
  va_list rest;
  va_start(rest, word);
  const char* reply = ask(server, NULL, word, rest);
  va_end(rest);
  return reply;
}

const char* server_ask_as(const Server* server, const char* user, const char* word, ...) {
  va_list rest;
  va_start(rest, word);
  const char* reply = ask(server, user, word, rest);
  va_end(rest);
  return reply;
}

void server_tell(const Server* server, const char* word, ...) {
  va_list rest;
  va_start(rest, word);
  const char* reply = ask(server, NULL, word, rest);
  va_end(rest);
  if (strcmp(reply, "OK") != 0) {
    FAIL("the server answered %s with '%s'", word, reply);
  }
}

void server_cut_clients(const Server* server) {
  server_ask(server, "CLIENT", "KILL", "TYPE", "normal", NULL);
  // A connection with a subscription counts as this type.
  server_ask(server, "CLIENT", "KILL", "TYPE", "pubsub", NULL);
}

bool server_is_before_7(const Server* server) {
  return strstr(server_ask(server, "INFO", "server", NULL), "redis_version:6.") != NULL;
}

int server_connections(const Server* server) {
  int count = 0;
  for (const char* found = server_ask(server, "CLIENT", "LIST", NULL);
       (found = strstr(found, "name=belay ")) != NULL; ++found) {
    ++count;
  }
  return count;
}

int64_t server_scripts_run(const Server* server) {
  int64_t count = 0;
  for (const char* found = server_ask(server, "INFO", "commandstats", NULL);
       (found = strstr(found, "cmdstat_eval")) != NULL; ++found) {
    count += strtoll(strstr(found, "calls=") + strlen("calls="), NULL, 10);
  }
  return count;
}

// ---- What is no server

static _Noreturn void run_fake(int listener, const char* answer) {
  for (;;) {
    const int fd = accept(listener, NULL, NULL);
    char bytes[4096];
    if (fd >= 0 && read(fd, bytes, sizeof bytes) > 0 && answer[0] != '\0') {
      if (write(fd, answer, strlen(answer)) < 0) {
        _exit(1);
      }
      while (read(fd, bytes, sizeof bytes) > 0) {
      }
      close(fd);
    }
  }
}

const char* fake_server(const char* answer) {
  static char url[64];
  const uint16_t port = free_port();
  const int listener = listen_on(port);
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run_fake(listener, answer);
  }
  close(listener);
  snprintf(url, sizeof url, "redis://127.0.0.1:%d", port);
  return url;
}
