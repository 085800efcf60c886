// The driver: runs the tests of its tables, or those that the words given choose,
// each in a process of its own with a server of its own and a time limit. At the end of a run that
// leaves out none, or only some by name,
// every status of the library must have been seen.
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { kTestLimitSeconds = 60 };

static const int32_t kStatuses[] = {BELAY_OK,
                                    BELAY_BUSY,
                                    BELAY_TIMEOUT,
                                    BELAY_UNAVAILABLE,
                                    BELAY_TOO_MANY_PENDING,
                                    BELAY_AUTH_FAILED,
                                    BELAY_NOT_PERMITTED,
                                    BELAY_WRONG_TYPE,
                                    BELAY_UNSUPPORTED_SERVER,
                                    BELAY_SERVER_ERROR,
                                    BELAY_NOT_FOUND,
                                    BELAY_LIMIT_DIFFERS,
                                    BELAY_INVALID_ARGUMENT,
                                    BELAY_UNSUPPORTED_URL,
                                    BELAY_TAG_IN_USE,
                                    BELAY_UNKNOWN_TAG,
                                    BELAY_UNKNOWN_HOLD,
                                    BELAY_ALREADY_USED,
                                    BELAY_WOULD_DEADLOCK,
                                    BELAY_LOST,
                                    BELAY_CANCELLED,
                                    BELAY_CLOSED,
                                    BELAY_FORKED};

// Words choose the tests whose names contain one of them, or with a dash in front those that
// contain none.
static bool is_selected(const Test* test, int count, char** words) {
  bool chosen = count == 0 || words[0][0] == '-';
  for (int i = 0; i < count; ++i) {
    const bool excludes = words[i][0] == '-';
    if (strstr(test->name, words[i] + excludes) != NULL) {
      chosen = !excludes;
    }
  }
  return chosen;
}

static _Noreturn void run(const Test* test, const char* program, const char* directory) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm((unsigned)scaled(kTestLimitSeconds));
  Server server;
  server_prepare(&server, program, directory);
  server_start(&server);
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);  // what was measured shows also where a check fails
  test->run(&server);
  exit(0);
}

// Removes what servers and tests leave behind: plain files and empty directories.
static void remove_directory(const char* directory) {
  DIR* entries = opendir(directory);
  for (const struct dirent* entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    if (entry->d_name[0] != '.') {
      remove(path);
    }
  }
  if (entries != NULL) {
    closedir(entries);
  }
  rmdir(directory);
}

static bool passes(const Test* test, const char* program) {
  char directory[] = "/tmp/belay-test-XXXXXX";
  CHECK(mkdtemp(directory) != NULL);
  const int64_t start = now_ms();
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    run(test, program, directory);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  kill(-pid, SIGKILL);  // whoever it left behind
  remove_directory(directory);
  const bool passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (WIFSIGNALED(status)) {
    printf("  %s: signal %d\n", WTERMSIG(status) == SIGALRM ? "took too long" : "crashed",
           WTERMSIG(status));
  }
  printf("%s %5lld ms  %s\n", passed ? "ok    " : "FAILED", (long long)(now_ms() - start),
         test->name);
  fflush(stdout);
  return passed;
}

static int count_missing_statuses(void) {
  int missing = 0;
  for (size_t i = 0; i < sizeof kStatuses / sizeof kStatuses[0]; ++i) {
    if (!status_was_seen(kStatuses[i])) {
      printf("FAILED  no test saw the status %s\n", belay_status_name(kStatuses[i]));
      ++missing;
    }
  }
  return missing;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s SERVER-PROGRAM [[-]PART-OF-A-NAME...]\n", argv[0]);
    return 64;
  }
  unsetenv("BELAY_URL");
  unsetenv("BELAY_LOG");
  share_seen_statuses();
  int passed = 0;
  int failed = 0;
  for (const Test* const* table = test_tables; *table != NULL; ++table) {
    for (const Test* test = *table; test->name != NULL; ++test) {
      if (is_selected(test, argc - 2, argv + 2)) {
        if (passes(test, argv[1])) {
          ++passed;
        } else {
          ++failed;
        }
      }
    }
  }
  const bool is_full = argc == 2 || argv[2][0] == '-';
  if (is_full && sees_every_status) {
    failed += count_missing_statuses();
  }
  printf("integration: %d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
