#include <belay/belay.h>
#include <stdio.h>

int main(void) {
  belay_options* options = belay_options_new(); /* server: BELAY_URL, else localhost */
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "%s\n", belay_options_error(options));
    return 1;
  }
  belay_options_free(options);
  belay_event* event = NULL;
  int64_t hold = belay_lock(client, "orders:42", -1, 5000, &event); /* wait 5 s at most */
  if (hold < 0) {
    fprintf(stderr, "no lock: %s: %s\n", belay_status_name(hold), belay_event_message(event));
  } else {
    printf("charging order 42 under fence %lld\n", (long long)belay_event_fence(event, 0));
    if (belay_release(client, hold) == BELAY_LOST) {
      fprintf(stderr, "the lock was lost: another process may have charged, too\n");
    }
  }
  belay_event_free(event);
  belay_client_free(client);
  return hold < 0;
}
