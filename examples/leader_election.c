/* Leader election: the holder of the lock leads until it loses the lock or ends. Start it several
 * times; stop or kill the leader, and the next one leads. Usage: leader_election [SECONDS to lead]
 */
#include <belay/belay.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELECTION = 1 }; /* the tag of the acquire */

/* Leads for `seconds` at most. Returns 0 if we have stopped leading before. */
static int lead(belay_client* client, int64_t hold, int seconds) {
  printf("leading under fence %lld\n", (long long)belay_hold_fence(client, hold, 0));
  fflush(stdout);
  for (int i = 0; i < seconds; ++i) {
    belay_event* event = belay_next(client, 1000); /* in place of a second of a leader's work */
    int32_t kind = belay_event_kind(event);        /* 0 of NULL: no news */
    if (kind == BELAY_EVENT_AT_RISK || kind == BELAY_EVENT_LOST) {
      fprintf(stderr, "%s\n", belay_event_message(event));
    }
    belay_event_free(event);
    if (kind == BELAY_EVENT_LOST || kind == BELAY_EVENT_END) {
      return 0;
    }
  }
  return 1;
}

/* Waits for the lock, and leads. Returns 1 when it has led for long enough, 0 when the lock was
 * lost and -1 when there is no hope. */
static int stand(belay_client* client, const belay_request* request, int seconds) {
  /* As it is a submission, belay_next brings the news of its hold. */
  belay_event* event = belay_acquire_within(client, ELECTION, request, 0, -1, -1);
  int64_t hold = belay_event_hold(event);
  if (hold == 0) {
    fprintf(stderr, "not elected: %s: %s\n", belay_status_name(belay_event_status(event)),
            belay_event_message(event));
  }
  belay_event_free(event);
  if (hold == 0) {
    return -1;
  }
  int led = lead(client, hold, seconds);
  belay_release(client, hold);
  return led;
}

int main(int argc, char** argv) {
  int seconds = argc > 1 ? atoi(argv[1]) : 10;
  belay_options* options = belay_options_new();
  belay_options_set_watchdog_lease_ms(options, 3000); /* a dead leader is followed within 3 s */
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "%s\n", belay_options_error(options));
    return 1;
  }
  belay_options_free(options);
  belay_request* request = belay_request_new(BELAY_LOCK);
  belay_request_add_name(request, "leader", -1);
  int led = 0;
  while (led == 0) { /* who has lost the lock stands again */
    led = stand(client, request, seconds);
  }
  belay_request_free(request);
  belay_client_free(client);
  return led < 0;
}
