// The driver: runs the tests of its tables, or those that the words given choose, some at a time
// (BELAY_TEST_JOBS), as they wait more than they work; each in a process of its own with a server
// of its own and a time limit. Where the machine itself stood still, or had no processor to spare
// for as long, during a test a check of which failed, it is run again (up to BELAY_TEST_TRIES
// times in all): a lease may have ended meanwhile. A crash or a sanitizer's report is never passed
// over. At the end of a run that leaves out none, or only some by name, every status, kind, reason
// and field of the header must have been seen.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deployment.h"
#include "idler.h"
#include "support.h"

// A waiter who is granted has 100 ms to confirm, in which the client and the server have to run.
enum { kTestLimitSeconds = 120, kMostAtATime = 16, kStandstillMs = 50 };

// A test that runs. Its output goes to a file in memory until it has ended.
typedef struct Run {
  const Test* test;  // NULL: none
  pid_t pid;
  int tries;
  int output;
  int status;  // when it has ended
  int64_t start;
  int64_t stood_still;  // the machine, for how long at a time
} Run;

typedef struct Tally {
  Idler idler;
  int most_tries;
  int passed;
  int failed;
  int again;
  int failures;  // a file: what is said again at the end, as a long log is cut
} Tally;

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

static _Noreturn void run_test(const Test* test, const char* program, int output) {
  CHECK(dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0);
  close(output);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm((unsigned)scaled(kTestLimitSeconds));
  Server server;
  deploy(&server, program);
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);  // what was measured shows also where a check fails
  test->run(&server);
  exit(0);
}

static void start(Run* run, const Test* test, const char* program) {
  run->test = test;
  run->tries += 1;
  run->start = now_ms();
  run->stood_still = 0;
  run->output = memfd_create("output", MFD_CLOEXEC);
  CHECK(run->output >= 0);
  run->pid = fork();
  CHECK(run->pid >= 0);
  if (run->pid == 0) {
    run_test(test, program, run->output);
  }
}

static void print_output(int output) {
  char bytes[4096];
  lseek(output, 0, SEEK_SET);
  for (ssize_t size; (size = read(output, bytes, sizeof bytes)) > 0;) {
    fwrite(bytes, 1, (size_t)size, stdout);
  }
}

// Keeps the end of what a test that failed has printed.
static void note_failure(const Run* run, int failures) {
  char bytes[1025];
  const off_t size = lseek(run->output, 0, SEEK_END);
  const off_t most = (off_t)sizeof bytes - 1;
  const ssize_t count = pread(run->output, bytes, sizeof bytes - 1, size > most ? size - most : 0);
  bytes[count < 0 ? 0 : count] = '\0';
  dprintf(failures, "FAILED  %s (try %d; the machine stood still for %lld ms)\n%s", run->test->name,
          run->tries, (long long)run->stood_still, bytes);
}

// Says how the test ended.
static bool has_passed(const Run* run) {
  kill(-run->pid, SIGKILL);
  print_output(run->output);
  const bool passed = WIFEXITED(run->status) && WEXITSTATUS(run->status) == 0;
  if (WIFSIGNALED(run->status)) {
    const int signal = WTERMSIG(run->status);
    printf("  %s: signal %d\n", signal == SIGALRM ? "took too long" : "crashed", signal);
  }
  printf("%s %5lld ms  %s\n", passed ? "ok    " : "FAILED", (long long)(now_ms() - run->start),
         run->test->name);
  return passed;
}

// Counts a test that has ended and frees its place, unless it has to be run again.
static void finish(Run* run, const char* program, Tally* tally) {
  if (has_passed(run)) {
    ++tally->passed;
  } else if (WIFEXITED(run->status) && WEXITSTATUS(run->status) == kCheckFailed &&
             run->stood_still >= kStandstillMs && run->tries < tally->most_tries) {
    printf("  again: the machine stood still for %lld ms\n", (long long)run->stood_still);
    ++tally->again;
    close(run->output);
    start(run, run->test, program);
    return;
  } else {
    note_failure(run, tally->failures);
    ++tally->failed;
  }
  close(run->output);
  memset(run, 0, sizeof *run);
}

// Waits for a moment, and longer where the machine stands still; then finishes those that have
// ended. Returns a free place, if there is one.
static Run* look_after(Run* runs, int at_a_time, const char* program, Tally* tally) {
  const int64_t before = now_ms();
  nap();
  const int64_t now = now_ms();
  const int64_t busy = now - idler_awake_at(&tally->idler);
  const int64_t stood_still = now - before > busy ? now - before : busy;
  Run* free_place = NULL;
  for (Run* run = runs; run != runs + at_a_time; ++run) {
    run->stood_still = stood_still > run->stood_still ? stood_still : run->stood_still;
    if (run->test != NULL && waitpid(run->pid, &run->status, WNOHANG) == run->pid) {
      finish(run, program, tally);
    }
    free_place = run->test == NULL ? run : free_place;
  }
  return free_place;
}

// The environment's number, or the usual one.
static int number_from(const char* variable, int usual, int most) {
  const char* text = getenv(variable);
  const int number = text == NULL ? usual : atoi(text);
  return number < 1 ? 1 : number > most ? most : number;
}

static Tally run_all(const char* program, int count, char** words) {
  // Four at a time are what two processors are not too slow for.
  const int at_a_time = number_from("BELAY_TEST_JOBS", 4, kMostAtATime);
  Run runs[kMostAtATime] = {0};
  Tally tally = {.idler = idler_start(),
                 .most_tries = number_from("BELAY_TEST_TRIES", 5, 100),
                 .failures = memfd_create("failures", MFD_CLOEXEC)};
  CHECK(tally.failures >= 0);
  int selected = 0;
  for (const Test* const* table = test_tables; *table != NULL; ++table) {
    for (const Test* test = *table; test->name != NULL; ++test) {
      if (is_selected(test, count, words)) {
        Run* place = NULL;
        while ((place = look_after(runs, at_a_time, program, &tally)) == NULL) {
        }
        start(place, test, program);
        ++selected;
      }
    }
  }
  while (tally.passed + tally.failed < selected) {
    look_after(runs, at_a_time, program, &tally);
  }
  idler_end(&tally.idler);
  return tally;
}

// How the names of numbers begin that a test must have seen; statuses last, as of other numbers
// nothing needs to be.
static const char* const kPrefixes[kSeenWhats] = {"BELAY_EVENT_", "BELAY_REASON_", "BELAY_FIELD_",
                                                  "BELAY_MEMBER_", "BELAY_"};

static int is_missing(const char* name, int32_t number) {
  int what = 0;
  while (strncmp(name, kPrefixes[what], strlen(kPrefixes[what])) != 0) {
    ++what;
  }
  const bool is_other =
      what == kSeenStatus && strcmp(name + strlen(kPrefixes[what]), belay_status_name(number)) != 0;
  if (is_other || was_seen(what, number)) {
    return 0;
  }
  printf("FAILED  no test saw %s\n", name);
  return 1;
}

// Goes through all numbers of the header.
static int count_missing(void) {
  int missing = 0;
#define FROZEN(name, number) missing += is_missing(#name, number)
#include "../abi/frozen_numbers.c"
  return missing;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s SERVER-PROGRAM [[-]PART-OF-A-NAME...]\n", argv[0]);
    return 64;
  }
  unsetenv("BELAY_URL");
  unsetenv("BELAY_LOG");
  share_seen();
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  Tally tally = run_all(argv[1], argc - 2, argv + 2);
  const bool is_full = argc == 2 || argv[2][0] == '-';
  if (is_full && sees_every_number) {
    tally.failed += count_missing();
  }
  print_output(tally.failures);
  printf("%d times a test was run again\n", tally.again);
  printf("integration: %d passed, %d failed\n", tally.passed, tally.failed);
  return tally.failed == 0 ? 0 : 1;
}
