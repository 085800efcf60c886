/* A barrier: three parties, here threads, go on when all have arrived. Each counts the latch down
 * before it waits, so nobody passes too early. The latch stays open, so nobody waits for ever. */
#include <belay/belay.h>
#include <pthread.h>
#include <stdio.h>

enum { PARTIES = 3, ONE_MINUTE = 60000 };

/* Says what failed, if anything did. Frees the event. Returns 1 if all went well. */
static int succeeded(int64_t result, belay_event* event) {
  if (result < 0) {
    fprintf(stderr, "%s: %s\n", belay_status_name(result), belay_event_message(event));
  }
  belay_event_free(event);
  return result >= 0;
}

static int set_up(belay_client* client) {
  belay_event* event = NULL;
  int64_t generation = belay_latch_set(client, "barrier", -1, PARTIES, ONE_MINUTE, &event);
  return succeeded(generation, event); /* IN_USE: others are just meeting there */
}

static int arrive(belay_client* client) {
  belay_event* event = NULL;
  int64_t count = belay_latch_count_down(client, "barrier", -1, 1, &event);
  return succeeded(count, event);
}

static int await_all(belay_client* client) {
  belay_request* request = belay_request_new(BELAY_LATCH);
  belay_request_add_name(request, "barrier", -1);
  belay_event* event = NULL;
  int64_t generation = belay_acquire(client, request, 0, 10000, &event); /* nothing is held */
  belay_request_free(request);
  return succeeded(generation, event);
}

static void* meet(void* client) {
  return arrive(client) && await_all(client) ? client : NULL;
}

int main(void) {
  belay_options* options = belay_options_new();
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "%s\n", belay_options_error(options));
    return 1;
  }
  belay_options_free(options);
  int met = 0;
  if (set_up(client)) {
    pthread_t parties[PARTIES];
    int started = 0;
    while (started < PARTIES && pthread_create(&parties[started], NULL, meet, client) == 0) {
      ++started;
    }
    for (int i = 0; i < started; ++i) {
      void* all_were_there = NULL;
      pthread_join(parties[i], &all_were_there);
      met += all_were_there != NULL;
    }
  }
  belay_client_free(client);
  printf("%d of %d have met\n", met, PARTIES);
  return met < PARTIES;
}
