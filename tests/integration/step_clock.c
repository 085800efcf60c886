// Preloaded into a server: its wall clock is ahead of the machine's by the seconds that the file
// $BELAY_TEST_CLOCK holds, at any moment. What libfaketime does, but that one never comes back from
// the first allocation of a server that allocates by jemalloc.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t* ahead_s;

__attribute__((constructor)) static void open_clock(void) {
  const char* path = getenv("BELAY_TEST_CLOCK");
  const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  void* memory = mmap(NULL, sizeof *ahead_s, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) {
    abort();
  }
  ahead_s = memory;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  const int result = (int)syscall(SYS_clock_gettime, clock, time);
  const int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (result == 0 && is_wall && ahead_s != NULL) {
    time->tv_sec += *ahead_s;
  }
  return result;
}

int gettimeofday(struct timeval* restrict time, void* restrict zone) {
  (void)zone;
  struct timespec now;
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  *time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return result;
}

time_t time(time_t* where) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (where != NULL) {
    *where = now.tv_sec;
  }
  return now.tv_sec;
}
