/* Several names for one order: all its workers hold them together, in whatever process they run,
 * while other orders wait. Start it in two terminals: the second goes on at once. Start another
 * order in a third: it waits until both have ended, and workers who come after it wait, too.
 * Usage: shared_order [ORDER] [SECONDS to work] */
#include <belay/belay.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAIN_THREAD = 1 }; /* the owner, which may acquire again; each thread has its own number */

/* Returns a hold of both names, or 0. */
static int64_t enter(belay_client* client, const char* order) {
  belay_request* request = belay_request_new(BELAY_LOCK);
  belay_request_add_name(request, "stock:4", -1);
  belay_request_add_name(request, "stock:9", -1);
  belay_request_set_identity(request, order, -1);
  belay_event* event = NULL;
  int64_t hold = belay_acquire(client, request, MAIN_THREAD, 60000, &event);
  if (hold < 0) {
    fprintf(stderr, "%s: %s: %s\n", order, belay_status_name(hold), belay_event_message(event));
  }
  belay_event_free(event);
  belay_request_free(request);
  return hold < 0 ? 0 : hold;
}

/* A step that may also run alone: it locks what it needs, which this thread may have already. */
static int reserve(belay_client* client, const char* order) {
  int64_t hold = enter(client, order);
  if (hold == 0) {
    return 0;
  }
  printf("%s reserves 4 and 9 under fences %lld and %lld\n", order,
         (long long)belay_hold_fence(client, hold, 0),
         (long long)belay_hold_fence(client, hold, 1));
  fflush(stdout);
  return belay_release(client, hold) != BELAY_LOST;
}

static int work(belay_client* client, const char* order, unsigned seconds) {
  int64_t hold = enter(client, order);
  if (hold == 0) {
    return 0;
  }
  int reserved = reserve(client, order);
  sleep(seconds); /* in place of the order's work */
  return belay_release(client, hold) != BELAY_LOST && reserved;
}

int main(int argc, char** argv) {
  const char* order = argc > 1 ? argv[1] : "order:17";
  unsigned seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 10;
  belay_options* options = belay_options_new();
  belay_options_set_watchdog_lease_ms(options, 3000); /* others follow a dead worker within 3 s */
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "%s\n", belay_options_error(options));
    return 1;
  }
  belay_options_free(options);
  int worked = work(client, order, seconds);
  belay_client_free(client);
  return !worked;
}
