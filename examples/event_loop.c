/* The asynchronous half in a poll(2) loop: three locks are asked for at once, each is released as
 * it comes. No thread of ours ever blocks. Server: BELAY_URL, else localhost. */
#include <belay/belay.h>
#include <poll.h>
#include <stdio.h>

enum { LOCKS = 3 };

/* Handles one event. Returns how many submissions it completed for good. */
static int handle(belay_client* client, const belay_event* event) {
  switch (belay_event_kind(event)) {
    case BELAY_EVENT_ACQUIRED:
      printf("tag %lld: %s\n", (long long)belay_event_tag(event),
             belay_status_name(belay_event_status(event)));
      if (belay_event_status(event) != BELAY_OK) {
        return 1;
      }
      return belay_submit_release(client, belay_event_tag(event) + LOCKS,
                                  belay_event_hold(event)) == BELAY_OK
                 ? 0
                 : 1;
    case BELAY_EVENT_RELEASED:
      printf("tag %lld: released\n", (long long)belay_event_tag(event));
      return 1;
    case BELAY_EVENT_LOST:
      printf("lost: %s\n", belay_event_message(event));
      return 0;
    default: /* kinds of newer versions */
      return 0;
  }
}

int main(void) {
  static const char* const names[LOCKS] = {"stock:1", "stock:2", "stock:3"};
  belay_options* options = belay_options_new();
  belay_client* client = belay_client_new(options);
  belay_options_free(options);
  if (client == NULL) {
    return 1;
  }
  for (int i = 0; i < LOCKS; ++i) {
    belay_request* request = belay_request_new(BELAY_LOCK);
    belay_request_add_name(request, names[i], -1);
    if (belay_submit_acquire(client, i + 1, request, 0, 5000) != BELAY_OK) {
      return 1;
    }
    belay_request_free(request); /* it was copied */
  }
  struct pollfd ready = {(int)belay_client_fd(client), POLLIN, 0};
  for (int done = 0; done < LOCKS && poll(&ready, 1, 10000) > 0;) {
    for (belay_event* event; (event = belay_next(client, 0)) != NULL; belay_event_free(event)) {
      done += handle(client, event);
    }
  }
  belay_client_free(client);
  return 0;
}
