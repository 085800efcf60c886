/* Moves money between two accounts: both are locked, or neither. Other programs may name them in
 * the other order without deadlock. */
#include <belay/belay.h>
#include <stdio.h>

static int64_t lock_both(belay_client* client, const char* from, const char* to) {
  belay_request* request = belay_request_new(BELAY_LOCK);
  belay_request_add_name(request, from, -1);
  belay_request_add_name(request, to, -1);
  belay_event* event = NULL;
  int64_t hold = belay_acquire(client, request, 0, 5000, &event);
  if (hold < 0) { /* also reports a wrong name */
    fprintf(stderr, "no lock: %s: %s\n", belay_status_name(hold), belay_event_message(event));
  }
  belay_event_free(event);
  belay_request_free(request);
  return hold;
}

static int move(belay_client* client, const char* from, const char* to) {
  int64_t hold = lock_both(client, from, to);
  if (hold < 0) {
    return 1;
  }
  /* One fence for each name, in the order of adding. */
  printf("from %s under fence %lld, ", from, (long long)belay_hold_fence(client, hold, 0));
  printf("to %s under fence %lld\n", to, (long long)belay_hold_fence(client, hold, 1));
  if (belay_release(client, hold) == BELAY_LOST) { /* one lost name loses all */
    fprintf(stderr, "the locks were lost: look whether all was moved\n");
    return 1;
  }
  return 0;
}

int main(void) {
  belay_options* options = belay_options_new();
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "%s\n", belay_options_error(options));
    return 1;
  }
  belay_options_free(options);
  int result = move(client, "account:7", "account:9");
  belay_client_free(client);
  return result;
}
