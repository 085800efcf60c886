/* Readers and a writer: a configuration that many programs read and one at a time changes. Readers
 * hold the lock together. The writer holds it alone; then it becomes a reader of what it wrote,
 * before another writer can change that. */
#include <belay/belay.h>
#include <stdio.h>

static int64_t acquire(belay_client* client, int to_read) {
  belay_request* request = belay_request_new(BELAY_LOCK);
  if (to_read) {
    belay_request_add_shared_name(request, "config", -1);
  } else {
    belay_request_add_name(request, "config", -1);
  }
  belay_event* event = NULL;
  int64_t hold = belay_acquire(client, request, 0, 5000, &event);
  if (hold < 0) {
    fprintf(stderr, "no lock: %s: %s\n", belay_status_name(hold), belay_event_message(event));
  }
  belay_event_free(event);
  belay_request_free(request);
  return hold;
}

static void show(belay_client* client, const char* what, int64_t hold) {
  printf("%s under fence %lld\n", what, (long long)belay_hold_fence(client, hold, 0));
}

static int read_together(belay_client* client) {
  int64_t one = acquire(client, 1);
  int64_t two = acquire(client, 1); /* with the first, as from any other program */
  if (one > 0 && two > 0) {
    show(client, "two are reading", two);
  }
  belay_release(client, one); /* of a number that is no hold: UNKNOWN_HOLD */
  belay_release(client, two);
  return one > 0 && two > 0;
}

static int write_and_read(belay_client* client) {
  int64_t hold = acquire(client, 0);
  if (hold < 0) {
    return 0;
  }
  show(client, "writing alone", hold);
  belay_event* event = NULL;
  int32_t status = belay_downgrade(client, hold, &event);
  if (status == BELAY_OK) {
    show(client, "reading it again", hold);
  } else {
    fprintf(stderr, "still a writer: %s: %s\n", belay_status_name(status),
            belay_event_message(event));
  }
  belay_event_free(event);
  if (belay_release(client, hold) == BELAY_LOST) {
    fprintf(stderr, "the lock was lost: another writer may have written, too\n");
    return 0;
  }
  return status == BELAY_OK;
}

int main(void) {
  belay_options* options = belay_options_new();
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "%s\n", belay_options_error(options));
    return 1;
  }
  belay_options_free(options);
  int result = read_together(client) && write_and_read(client) ? 0 : 1;
  belay_client_free(client);
  return result;
}
