// Where a password may not be: in messages, and in memory once its client is gone. And where it
// comes from: files that are none.
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

// ---- In memory

// A password that stands nowhere in this program as it is; and its SHA-256, by which a server knows
// it.
typedef struct Hidden {
  int size;
  unsigned char veiled[32];
  const char* hash;
} Hidden;

enum { kVeil = 0x5a };

// One that a std::string keeps in itself, one that it does not.
static const Hidden kHidden[] = {
    {12,
     {0x2e, 0x33, 0x34, 0x23, 0x77, 0x2a, 0x3b, 0x29, 0x29, 0x77, 0x6d, 0x6d},
     "#013ebd642cecd686dbcbe27c5c5dfa49797d1d9c4ac1d5b971fb58582411afd7"},
    {31,
     {0x39, 0x35, 0x28, 0x28, 0x3f, 0x39, 0x2e, 0x7a, 0x32, 0x35, 0x28,
      0x29, 0x3f, 0x7a, 0x38, 0x3b, 0x2e, 0x2e, 0x3f, 0x28, 0x23, 0x7a,
      0x29, 0x2e, 0x3b, 0x2a, 0x36, 0x3f, 0x7a, 0x6e, 0x68},
     "#4da30c37ee0ecc0369ee62679f2f78cd3187cacb8d790e899371257c964a90bd"}};

// Behind what is already in `text`.
static void unveil(const Hidden* hidden, char text[256]) {
  char* end = text + strlen(text);
  for (int i = 0; i < hidden->size; ++i) {
    end[i] = (char)(hidden->veiled[i] ^ kVeil);
  }
  end[hidden->size] = '\0';
}

// Its first bytes may have been written over.
enum { kSkipped = 2 };

static int count_in(const char* bytes, ssize_t size, const Hidden* hidden) {
  const int wanted = hidden->size - kSkipped;
  const int first = hidden->veiled[kSkipped] ^ kVeil;
  const char* end = bytes + size - wanted + 1;
  int count = 0;
  while (bytes < end && (bytes = memchr(bytes, first, (size_t)(end - bytes))) != NULL) {
    int same = 1;
    while (same < wanted &&
           (unsigned char)bytes[same] == (hidden->veiled[same + kSkipped] ^ kVeil)) {
      ++same;
    }
    count += same == wanted;
    ++bytes;
  }
  return count;
}

// How often the password stands in what this process may write to. What a sanitizer reserves is
// larger than any of it.
static int copies_of(const Hidden* hidden) {
  enum { kPiece = 1 << 16 };

  const unsigned long overlap = (unsigned long)hidden->size - kSkipped - 1;  // none counts twice
  const unsigned long too_large = 1UL << 28;
  static char bytes[kPiece];
  int count = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  const int memory = open("/proc/self/mem", O_RDONLY);
  CHECK(maps != NULL && memory >= 0);
  char line[512];
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long start = 0;
    unsigned long end = 0;
    char rights[8] = "";
    CHECK_INT(3, sscanf(line, "%lx-%lx %7s", &start, &end, rights));
    if (rights[0] != 'r' || rights[1] != 'w' || end - start > too_large) {
      continue;
    }
    for (unsigned long at = start; at < end; at += kPiece - overlap) {
      const unsigned long left = end - at;
      const ssize_t size = pread(memory, bytes, left < kPiece ? left : kPiece, (off_t)at);
      count += count_in(bytes, size, hidden);
      explicit_bzero(bytes, sizeof bytes);
    }
  }
  close(memory);
  fclose(maps);
  return count;
}

enum Way { kByUrl, kBySetter, kByFile, kWays };

static void write_file(const char* path, const char* text, mode_t mode) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
  CHECK(fchmod(fd, mode) == 0);
  close(fd);
}

static belay_client* client_with(Server* server, const Hidden* hidden, enum Way way) {
  char text[256] = "";
  belay_options* options = belay_options_new();
  if (way == kByUrl) {
    strcpy(text, "redis://:");
    unveil(hidden, text);
    sprintf(text + strlen(text), "@127.0.0.1:%d", server->port);
    for (char* space = NULL; (space = strchr(text, ' ')) != NULL;) {
      memmove(space + 3, space + 1, strlen(space));
      memcpy(space, "%20", 3);
    }
    CHECK_STATUS(BELAY_OK, belay_options_set_url(options, text));
  } else {
    CHECK_STATUS(BELAY_OK, belay_options_set_url(options, server->url));
    unveil(hidden, text);
  }
  if (way == kBySetter) {
    CHECK_STATUS(BELAY_OK, belay_options_set_password(options, text));
  } else if (way == kByFile) {
    char path[128];
    snprintf(path, sizeof path, "%s/password", server->directory);
    write_file(path, text, 0600);
    CHECK_STATUS(BELAY_OK, belay_options_set_password_file(options, path));
  }
  explicit_bzero(text, sizeof text);
  belay_client* client = belay_client_new(options);
  CHECK(client != NULL);
  belay_options_free(options);
  return client;
}

static void test_memory(Server* server) {
  server_tell(server, "ACL", "SETUSER", "default", "resetpass", kHidden[0].hash, kHidden[1].hash,
              NULL);
  for (int i = 0; i < 2; ++i) {
    for (enum Way way = kByUrl; way < kWays; ++way) {
      belay_client* client = client_with(server, &kHidden[i], way);
      const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
      CHECK_INT(1, copies_of(&kHidden[i]));
      CHECK_STATUS(BELAY_OK, belay_release(client, hold));
      belay_client_free(client);
      CHECK_INT(0, copies_of(&kHidden[i]));
    }
  }
}

// ---- In messages

// As servers do with arguments of what they do not understand.
static void test_echo(Server* server) {
  (void)server;
  const char* const answers[] = {
      "-ERR wrong number of arguments, beginning with: '3' 'AUTH' 'me' 's3cret pass word' \r\n",
      "-WRONGPASS s3cret%20pass%20word is wrong\r\n", "-NOPERM \"s3cret\\x20pass\\x20word\"\r\n",
      "-ERR args beginning with: 'AUTH' 'me' 's3cret pas\r\n",
      "%1\r\n$7\r\nversion\r\n$16\r\ns3cret pass word\r\n"};
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; ++i) {
    belay_client* client =
        CLIENT(.url = fake_server(answers[i]), .user = "me", .password = "s3cret pass word",
               .request_timeout_ms = scaled(300));
    belay_event* why = NULL;
    CHECK(belay_lock(client, "a", -1, 0, &why) < 0);
    CHECK_TEXT("***", belay_event_message(why));
    CHECK(strstr(belay_event_message(why), "s3cret") == NULL);
    belay_event_free(why);
    belay_client_free(client);
  }
}

// ---- From files

static void check_file(const char* path, const char* error) {
  belay_options* options = belay_options_new();
  const int64_t start = now_ms();
  CHECK_STATUS(BELAY_INVALID_ARGUMENT, belay_options_set_password_file(options, path));
  CHECK(now_ms() - start < scaled(kLimitMs));
  CHECK_TEXT(error, belay_options_error(options));
  CHECK(strstr(belay_options_error(options), "s3cret") == NULL);
  belay_options_free(options);
}

static void test_odd_files(Server* server) {
  char path[128];
  char text[5001];
  check_file("s3cret", "No such file");
  check_file("/dev/zero", "neither a regular file nor a pipe");
  check_file(server->directory, "neither a regular file nor a pipe");
  snprintf(path, sizeof path, "%s/file", server->directory);
  write_file(path, "", 0600);
  check_file(path, "empty");
  memset(text, 'x', 5000);
  text[5000] = '\0';
  write_file(path, text, 0600);
  check_file(path, "more than 4095 bytes");
  snprintf(path, sizeof path, "%s/pipe", server->directory);
  CHECK(mkfifo(path, 0600) == 0);
  check_file(path, "nobody wrote");
}

static void* write_later(void* path) {
  nap();
  write_file(path, "s3cret\n", 0600);
  return NULL;
}

// As of a shell's <(COMMAND).
static void test_pipe(Server* server) {
  char path[128];
  snprintf(path, sizeof path, "%s/pipe", server->directory);
  CHECK(mkfifo(path, 0600) == 0);
  server_tell(server, "CONFIG", "SET", "requirepass", "s3cret", NULL);
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, server->url));
  pthread_t thread;
  pthread_create(&thread, NULL, write_later, path);
  CHECK_STATUS(BELAY_OK, belay_options_set_password_file(options, path));
  pthread_join(thread, NULL);
  belay_client* client = belay_client_new(options);
  CHECK(client != NULL);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  belay_client_free(client);
  belay_options_free(options);
}

static int count_of(const char* part, const char* text) {
  int count = 0;
  while ((text = strstr(text, part)) != NULL) {
    ++count;
    ++text;
  }
  return count;
}

// What the log has of a client whose password file has this mode, and which connects twice.
static void check_warning(Server* server, mode_t mode, bool warned) {
  char path[128];
  char text[1024] = "";
  int ends[2];
  snprintf(path, sizeof path, "%s/password", server->directory);
  write_file(path, "s3cret\n", mode);
  CHECK(pipe(ends) == 0);
  const int err = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, server->url));
  CHECK_STATUS(BELAY_OK, belay_options_set_password_file(options, path));
  CHECK_STATUS(BELAY_OK, belay_options_set_log_level(options, BELAY_LOG_INFO));
  belay_client* client = belay_client_new(options);
  belay_options_free(options);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  server_cut_clients(server);
  CHECK_STATUS(BELAY_OK, belay_client_ping(client, NULL));
  belay_client_free(client);
  dup2(err, STDERR_FILENO);
  CHECK(read(ends[0], text, sizeof text - 1) > 0);
  close(ends[0]);
  close(ends[1]);
  close(err);
  CHECK_INT(2, count_of("connected", text));
  CHECK_INT(warned, count_of("open to others", text));
}

// ---- From a file that is read again at each connection

static void set_passwords(const Server* server, const char* change) {
  server_tell(server, "ACL", "SETUSER", "rotor", "on", "allkeys", "allchannels", "+@all", change,
              NULL);
}

// At once, as one who exchanges a password ought to.
static void exchange(const char* path, const char* text) {
  char other[256];
  snprintf(other, sizeof other, "%s.new", path);
  write_file(other, text, 0600);
  CHECK(rename(other, path) == 0);
}

static belay_client* client_by_file(const Server* server, const char* path) {
  belay_options* options = belay_options_new();
  CHECK_STATUS(BELAY_OK, belay_options_set_url(options, server->url));
  CHECK_STATUS(BELAY_OK, belay_options_set_user(options, "rotor"));
  CHECK_STATUS(BELAY_OK, belay_options_set_password_file(options, path));
  CHECK_STATUS(BELAY_OK, belay_options_set_request_timeout_ms(options, scaled(1000)));
  belay_client* client = belay_client_new(options);
  CHECK(client != NULL);
  belay_options_free(options);
  return client;
}

// It does not end with the connection; and what is new can be had.
static void check_survives(belay_client* client, int64_t hold) {
  EVENTUALLY(belay_client_ping(client, NULL) == BELAY_OK);
  CHECK_STATUS(BELAY_OK, belay_verify(client, hold, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, GRANTED(belay_lock(client, "b", -1, 0, NULL))));
}

static void test_rotation(Server* server) {
  char path[128];
  snprintf(path, sizeof path, "%s/password", server->directory);
  set_passwords(server, ">old");
  exchange(path, "old\n");
  belay_client* client = client_by_file(server, path);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  set_passwords(server, ">new");
  exchange(path, "new\n");
  set_passwords(server, "<old");
  server_cut_clients(server);
  check_survives(client, hold);
  // The file comes late: whoever has the old password is refused, and tries again.
  set_passwords(server, ">newest");
  set_passwords(server, "<new");
  server_cut_clients(server);
  EVENTUALLY(belay_client_ping(client, NULL) == BELAY_AUTH_FAILED);
  exchange(path, "newest\n");
  check_survives(client, hold);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static bool is_unavailable(belay_client* client, const char* part) {
  belay_event* why = NULL;
  const int32_t status = belay_client_ping(client, &why);
  const char* message = belay_event_message(why);
  const bool so = status == BELAY_UNAVAILABLE && strstr(message, "the password file '") != NULL &&
                  strstr(message, part) != NULL;
  belay_event_free(why);
  return so;
}

// Whatever stands in its place, the client waits for the file, and keeps what it holds.
static void check_waits_for_file(const Server* server, belay_client* client, int64_t hold,
                                 const char* path, const char* part) {
  server_cut_clients(server);
  EVENTUALLY(is_unavailable(client, part));
  CHECK_INT(BELAY_HOLD_HELD, belay_hold_state(client, hold));
  remove(path);
  exchange(path, "old\n");
  check_survives(client, hold);
}

static void test_file_in_the_way(Server* server) {
  char path[128];
  char text[5001];
  snprintf(path, sizeof path, "%s/password", server->directory);
  set_passwords(server, ">old");
  exchange(path, "old\n");
  belay_client* client = client_by_file(server, path);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK(remove(path) == 0);
  check_waits_for_file(server, client, hold, path, "No such file");
  CHECK(remove(path) == 0 && mkfifo(path, 0600) == 0);
  check_waits_for_file(server, client, hold, path, "no regular file any more");
  CHECK(remove(path) == 0 && symlink("/dev/zero", path) == 0);
  check_waits_for_file(server, client, hold, path, "no regular file any more");
  write_file(path, "", 0600);
  check_waits_for_file(server, client, hold, path, "is empty");
  memset(text, 'x', 5000);
  text[5000] = '\0';
  write_file(path, text, 0600);
  check_waits_for_file(server, client, hold, path, "more than 4095 bytes");
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

static void test_relative_path(Server* server) {
  char path[128];
  snprintf(path, sizeof path, "%s/password", server->directory);
  set_passwords(server, ">old");
  exchange(path, "old\n");
  CHECK(chdir(server->directory) == 0);
  belay_client* client = client_by_file(server, "password");
  CHECK(chdir("/") == 0);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

// As of a daemon that is started by root: the file is closed to the user that it becomes.
static void test_change_of_user(Server* server) {
  enum { kNobody = 65534 };

  if (geteuid() != 0) {
    return;
  }
  char path[128];
  snprintf(path, sizeof path, "%s/password", server->directory);
  set_passwords(server, ">old");
  exchange(path, "old\n");
  belay_client* client = client_by_file(server, path);
  const int64_t hold = GRANTED(belay_lock(client, "a", -1, 0, NULL));
  CHECK(seteuid(kNobody) == 0);
  server_cut_clients(server);
  check_survives(client, hold);
  CHECK(seteuid(0) == 0);
  CHECK_STATUS(BELAY_OK, belay_release(client, hold));
  belay_client_free(client);
}

// The server takes any password.
static void test_modes(Server* server) {
  check_warning(server, 0600, false);
  check_warning(server, 0400, false);
  check_warning(server, 0640, true);
  check_warning(server, 0666, true);
}

const Test secret_tests[] = {
    {"A password stands once in memory, and nowhere when its client is freed", test_memory},
    {"A password that a server echoes is masked, also encoded or cut short", test_echo},
    {"A password file that is none is refused in time", test_odd_files},
    {"A password may come from a pipe", test_pipe},
    {"A password file that others may open is warned of, once", test_modes},
    {"A password is exchanged in its file without losing a hold", test_rotation},
    {"A password file that is gone or none at a reconnect is waited for, and costs no hold",
     test_file_in_the_way},
    {"A password file is found again from another directory", test_relative_path},
    {"A password that a process may not read any more after a change of user stays in use",
     test_change_of_user},
    {NULL, NULL}};
