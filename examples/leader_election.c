/* Leader election: whoever holds the lock leads, until it is lost or this program ends. Start it
 * several times; stop or kill the leader and watch the next one take over. Usage: leader_election
 * [SECONDS to lead, default 10]. */
#include <belay/belay.h>
#include <stdio.h>
#include <stdlib.h>

/* Leads while the lock is ours. `seconds` of work at most; false when it was lost. */
static int lead(belay_client* client, int64_t hold, int seconds) {
  printf("leading under fence %lld\n", (long long)belay_hold_fence(client, hold, 0));
  fflush(stdout);
  for (int i = 0; i < seconds; ++i) {
    /* One second of a leader's work; news of the hold ends it at once. */
    belay_event* event = belay_next(client, 1000);
    const int lost = belay_event_kind(event) == BELAY_EVENT_LOST;
    if (lost) {
      printf("stepping down: %s\n", belay_event_message(event));
    }
    belay_event_free(event);
    if (lost) {
      return 0;
    }
  }
  return 1;
}

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? atoi(argv[1]) : 10;
  belay_options* options = belay_options_new();
  belay_options_set_watchdog_lease_ms(options, 3000); /* a dead leader is followed within 3 s */
  belay_client* client = belay_client_new(options);
  belay_options_free(options);
  if (client == NULL) {
    return 1;
  }
  belay_request* request = belay_request_new(BELAY_LOCK);
  belay_request_add_name(request, "leader", -1);
  belay_request_set_notify(request, 1);
  const int64_t hold = belay_acquire(client, request, 0, -1, NULL);
  belay_request_free(request);
  if (hold > 0) {
    lead(client, hold, seconds);
    belay_release(client, hold);
  }
  belay_client_free(client);
  return hold > 0 ? 0 : 1;
}
