/* A pool of threads that share one client. Jobs of different customers run concurrently; of one
 * customer only one runs at a time, on all hosts together. */
#include <belay/belay.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 4, JOBS = 12, CUSTOMERS = 5 };

static atomic_int next_job;
static atomic_int failures;

static void perform(int job, const char* customer, int64_t fence) {
  printf("job %d for %s under fence %lld\n", job, customer, (long long)fence);
}

/* Returns 0 if the job must be repeated. */
static int try_job(belay_client* client, int job) {
  char customer[32];
  snprintf(customer, sizeof customer, "customer:%d", job % CUSTOMERS);
  belay_event* event = NULL;
  int64_t hold = belay_lock(client, customer, -1, 10000, &event);
  if (hold < 0) {
    fprintf(stderr, "job %d: %s: %s\n", job, belay_status_name(hold), belay_event_message(event));
  } else {
    perform(job, customer, belay_event_fence(event, 0));
  }
  belay_event_free(event);
  /* LOST: another worker may have run at the same time. */
  return hold > 0 && belay_release(client, hold) != BELAY_LOST;
}

static void* work(void* client) {
  for (int job = next_job++; job < JOBS; job = next_job++) {
    if (!try_job(client, job)) {
      ++failures;
    }
  }
  return NULL;
}

int main(void) {
  belay_options* options = belay_options_new();
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "%s\n", belay_options_error(options));
    return 1;
  }
  belay_options_free(options);
  pthread_t threads[THREADS];
  int started = 0;
  while (started < THREADS && pthread_create(&threads[started], NULL, work, client) == 0) {
    ++started;
  }
  for (int i = 0; i < started; ++i) {
    pthread_join(threads[i], NULL);
  }
  belay_client_free(client);
  printf("%d of %d jobs done\n", started == 0 ? 0 : JOBS - failures, JOBS);
  return started == 0 || failures > 0;
}
