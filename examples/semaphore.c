/* A semaphore: at most eight units of something on all hosts together, two of them for us. Start it
 * several times: the fifth waits for the first. Usage: semaphore [SECONDS to work] */
#include <belay/belay.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
  belay_options* options = belay_options_new();
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "%s\n", belay_options_error(options));
    return 1;
  }
  belay_options_free(options);

  belay_request* request = belay_request_new(BELAY_SEMAPHORE);
  belay_request_add_name(request, "gpu", -1);
  belay_request_set_permits(request, 2, 8); /* the first to come sets the limit */
  belay_event* event = NULL;
  int64_t hold = belay_acquire(client, request, 0, -1, &event);
  int result = 1;
  if (hold < 0) {
    fprintf(stderr, "no units: %s: %s\n", belay_status_name(hold), belay_event_message(event));
  } else {
    printf("working with %lld of 8 units\n",
           (long long)belay_event_int(event, BELAY_FIELD_PERMITS));
    fflush(stdout);
    sleep(seconds);
    result = belay_release(client, hold) == BELAY_LOST;
    if (result != 0) {
      fprintf(stderr, "the units were lost: others may have had them, too\n");
    }
  }
  belay_event_free(event);
  belay_request_free(request);
  belay_client_free(client);
  return result;
}
