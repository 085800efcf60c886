/* Take a lock, do something that nobody else may do meanwhile, give it back. Server: BELAY_URL,
 * else localhost. */
#include <belay/belay.h>
#include <stdio.h>

int main(void) {
  belay_options* options = belay_options_new();
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "%s\n", belay_options_error(options));
    return 1;
  }
  belay_options_free(options);

  belay_event* why = NULL;
  int64_t hold = belay_lock(client, "orders:42", -1, 5000, &why);
  if (hold > 0) {
    printf("charging order 42 under fence %lld\n", (long long)belay_hold_fence(client, hold, 0));
    belay_release(client, hold);
  } else {
    fprintf(stderr, "not locked: %s %s\n", belay_status_name((int32_t)-hold),
            belay_event_message(why));
  }
  belay_event_free(why);
  belay_client_free(client);
  return hold > 0 ? 0 : 1;
}
