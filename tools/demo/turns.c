/* One of the demonstration's two processes: takes turns on a lock and says who holds it, under
 * which fence, and how long after the other's release it got it; also what it is told meanwhile of
 * the hold and of the server. Usage: turns WHO ROUNDS FILE NAME...; the processes tell each other
 * the time of the latest release through FILE. ROUNDS 0: holds until it is killed. Several names
 * are held together. Server: BELAY_URL. */
#include <belay/belay.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct turn {
  volatile int64_t released_us;
  volatile int32_t by; /* process id */
};

static int64_t now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static struct turn* share(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(struct turn)) != 0) {
    return NULL;
  }
  void* memory = mmap(NULL, sizeof(struct turn), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? NULL : memory;
}

static void announce(const char* name, const char* what, const struct turn* last, int64_t fence) {
  printf("%s holds %s   fence %lld", name, what, (long long)fence);
  if (last->by != 0 && last->by != getpid()) {
    printf("   handoff %lld us after the other's release",
           (long long)(now_us() - last->released_us));
  }
  printf("\n");
  fflush(stdout);
}

/* What comes in that time: news of the hold, and the log where the URL asks for it. */
static void work(const char* name, belay_client* client, int64_t time_ms) {
  for (const int64_t end_us = now_us() + time_ms * 1000; now_us() < end_us;) {
    belay_event* event = belay_next(client, (end_us - now_us()) / 1000 + 1);
    if (event != NULL) {
      printf("%s is told: %s%s\n", name,
             belay_event_kind(event) == BELAY_EVENT_RECOVERED ? "the server has confirmed the hold"
                                                              : "",
             belay_event_message(event));
      fflush(stdout);
    }
    belay_event_free(event);
  }
}

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: turns WHO ROUNDS FILE NAME...\n");
    return 64;
  }
  struct turn* last = share(argv[3]);
  belay_options* options = belay_options_new();
  belay_options_set_label(options, argv[1]);
  belay_options_set_watchdog_lease_ms(options, 3000);
  belay_client* client = belay_client_new(options);
  if (last == NULL || client == NULL) {
    fprintf(stderr, "%s\n",
            client == NULL ? belay_options_error(options) : "the file cannot be shared");
    return 1;
  }
  belay_options_free(options);
  belay_request* request = belay_request_new(BELAY_LOCK);
  for (int i = 4; i < argc; ++i) {
    belay_request_add_name(request, argv[i], -1);
  }
  const int rounds = atoi(argv[2]);
  for (int round = 0; round < rounds || rounds == 0; ++round) {
    belay_event* why = NULL;
    const int64_t hold = belay_acquire(client, request, 0, -1, &why);
    if (hold < 0) {
      fprintf(stderr, "%s: %s\n", argv[1], belay_event_message(why));
      return 1;
    }
    belay_event_free(why);
    announce(argv[1], argc == 5 ? "the lock" : "all locks", last,
             belay_hold_fence(client, hold, 0));
    while (rounds == 0) {
      pause();
    }
    work(argv[1], client, 150);
    last->by = getpid();
    last->released_us = now_us();
    const int32_t status = belay_release(client, hold);
    if (status != BELAY_OK) {
      printf("%s could not release: %s\n", argv[1], belay_status_name(status));
    }
  }
  belay_request_free(request);
  belay_client_free(client);
  return 0;
}
