/* A semaphore: at most eight units of something on all hosts together, two of them for us. Start it
 * several times: the fifth waits for the first. Server: BELAY_URL, else localhost. Usage: semaphore
 * [SECONDS to work, default 10]. */
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
  belay_request_set_permits(request, 2, 8); /* whoever comes first sets the limit */
  belay_event* why = NULL;
  const int64_t hold = belay_acquire(client, request, 0, -1, &why);
  if (hold > 0) {
    printf("working with %lld of 8 units\n", (long long)belay_event_int(why, BELAY_FIELD_PERMITS));
    fflush(stdout);
    sleep(seconds);
    belay_release(client, hold);
  } else {
    fprintf(stderr, "no units: %s %s\n", belay_status_name((int32_t)-hold),
            belay_event_message(why));
  }
  belay_event_free(why);
  belay_request_free(request);
  belay_client_free(client);
  return hold > 0 ? 0 : 1;
}
