/* A fenced write: the holder of a lock writes a key in Redis, which no holder that comes too late
 * can overwrite. If the answer is lost, it writes again. Usage: fenced_write [SECONDS of work] */
#include <belay/belay.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Writes as long as the lock is ours. Returns OK, or why the state is not known to be written. */
static int32_t write_state(belay_client* client, int64_t hold, const char* state) {
  const char* const words[] = {"SET", state, "PX", "86400000"};
  int64_t fence = belay_hold_fence(client, hold, 0);
  for (;;) {
    belay_event* event = NULL;
    int32_t status = belay_fenced_write(client, "order:42", -1, fence, 4, words, NULL, &event);
    int64_t doubt_ms = belay_event_int(event, BELAY_FIELD_IN_DOUBT_MS);
    if (status != BELAY_OK) {
      fprintf(stderr, "%s: %s\n", belay_status_name(status), belay_event_message(event));
    }
    belay_event_free(event);
    if (status != BELAY_UNAVAILABLE || belay_hold_state(client, hold) != BELAY_HOLD_HELD) {
      return status; /* STALE_FENCE: a newer holder has written, and we have changed nothing */
    }
    /* In doubt: the write has taken place, or does within doubt_ms, or never. SET writes the same
     * twice, so repeat it. INCR would count twice: sleep for doubt_ms, then read the key. */
    fprintf(stderr, "in doubt for %lld ms, writing again\n", (long long)doubt_ms);
  }
}

static int pay(belay_client* client, unsigned seconds) {
  belay_event* event = NULL;
  int64_t hold = belay_lock(client, "orders:42", -1, 5000, &event);
  if (hold < 0) {
    fprintf(stderr, "no lock: %s: %s\n", belay_status_name(hold), belay_event_message(event));
    belay_event_free(event);
    return 1;
  }
  belay_event_free(event);
  printf("paying under fence %lld\n", (long long)belay_hold_fence(client, hold, 0));
  fflush(stdout);
  sleep(seconds);
  int32_t status = write_state(client, hold, "paid");
  belay_release(client, hold);
  printf("order 42: %s\n", status == BELAY_OK ? "paid" : belay_status_name(status));
  return status != BELAY_OK;
}

int main(int argc, char** argv) {
  belay_options* options = belay_options_new();
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "%s\n", belay_options_error(options));
    return 1;
  }
  belay_options_free(options);
  int result = pay(client, argc > 1 ? (unsigned)atoi(argv[1]) : 0);
  belay_client_free(client);
  return result;
}
