/* Readers and a writer: a configuration in Redis that many programs read, and one at a time
 * changes. Readers hold the lock beside each other; who writes holds it alone, and then goes on
 * reading what it has written without letting another writer in between. Server: BELAY_URL, else
 * localhost. */
#include <belay/belay.h>
#include <stdio.h>

static int64_t acquire(belay_client* client, int to_read) {
  belay_request* request = belay_request_new(BELAY_LOCK);
  if (to_read) {
    belay_request_add_shared_name(request, "config", -1);
  } else {
    belay_request_add_name(request, "config", -1);
  }
  belay_event* why = NULL;
  const int64_t hold = belay_acquire(client, request, 0, 5000, &why);
  if (hold < 0) {
    fprintf(stderr, "not locked: %s %s\n", belay_status_name((int32_t)-hold),
            belay_event_message(why));
  }
  belay_event_free(why);
  belay_request_free(request);
  return hold;
}

static void show(belay_client* client, const char* what, int64_t hold) {
  printf("%s under fence %lld\n", what, (long long)belay_hold_fence(client, hold, 0));
}

static int read_and_write(belay_client* client) {
  const int64_t one = acquire(client, 1);
  const int64_t two = acquire(client, 1); /* beside the first, as from any other program */
  if (one < 0 || two < 0) {
    return 1;
  }
  show(client, "two are reading", two);
  belay_release(client, one);
  belay_release(client, two);

  const int64_t writer = acquire(client, 0);
  if (writer < 0) {
    return 1;
  }
  show(client, "writing alone", writer);
  if (belay_downgrade(client, writer, NULL) != BELAY_OK) {
    return 1;
  }
  show(client, "reading it again", writer);
  return belay_release(client, writer) == BELAY_OK ? 0 : 1;
}

int main(void) {
  belay_options* options = belay_options_new();
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "%s\n", belay_options_error(options));
    return 1;
  }
  belay_options_free(options);
  const int result = read_and_write(client);
  belay_client_free(client);
  return result;
}
