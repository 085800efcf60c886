/* Three locks in a poll(2) loop, without a thread that blocks: all are asked for at once, and each
 * is released when it comes. */
#include <belay/belay.h>
#include <poll.h>
#include <stdio.h>

enum { LOCKS = 3 };

/* Handles an event. Returns how many locks are done with. */
static int handle(belay_client* client, const belay_event* event) {
  int64_t tag = belay_event_tag(event);
  int32_t status = belay_event_status(event);
  switch (belay_event_kind(event)) {
    case BELAY_EVENT_ACQUIRED:
      if (status != BELAY_OK) {
        fprintf(stderr, "lock %lld: %s\n", (long long)tag, belay_event_message(event));
        return 1;
      }
      status = belay_submit_release(client, tag + LOCKS, belay_event_hold(event));
      return status != BELAY_OK;
    case BELAY_EVENT_RELEASED:
      printf("lock %lld: released, %s\n", (long long)tag - LOCKS, belay_status_name(status));
      return 1;
    case BELAY_EVENT_LOST: /* its release follows, and says LOST, too */
      fprintf(stderr, "hold %lld: %s\n", (long long)belay_event_hold(event),
              belay_event_message(event));
      return 0;
    default: /* AT_RISK, RECOVERED, and kinds of later versions */
      return 0;
  }
}

/* Takes the events that are there, and counts the locks that are done with. Returns 0 after the
 * end. */
static int take_events(belay_client* client, int* done) {
  belay_event* event;
  while ((event = belay_next(client, 0)) != NULL) {
    int ended = belay_event_kind(event) == BELAY_EVENT_END;
    *done += handle(client, event);
    belay_event_free(event);
    if (ended) {
      return 0;
    }
  }
  return 1;
}

static int submit(belay_client* client, int64_t tag, const char* name) {
  belay_request* request = belay_request_new(BELAY_LOCK);
  belay_request_add_name(request, name, -1);
  int32_t status = belay_submit_acquire(client, tag, request, 0, 5000);
  belay_request_free(request); /* it was copied */
  if (status != BELAY_OK) {    /* then no event follows */
    fprintf(stderr, "lock %lld: %s\n", (long long)tag, belay_status_name(status));
  }
  return status != BELAY_OK;
}

int main(void) {
  static const char* const names[LOCKS] = {"stock:1", "stock:2", "stock:3"};
  belay_options* options = belay_options_new();
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "%s\n", belay_options_error(options));
    return 1;
  }
  belay_options_free(options);
  int done = 0;
  for (int i = 0; i < LOCKS; ++i) {
    done += submit(client, i + 1, names[i]);
  }
  struct pollfd ready = {(int)belay_client_fd(client), POLLIN, 0};
  while (done < LOCKS && poll(&ready, 1, -1) > 0 && take_events(client, &done)) {
  }
  belay_client_free(client);
  return done < LOCKS;
}
