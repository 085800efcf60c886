/* Logs and metrics: what a client tells of itself, for the log and the monitoring of your program.
 */
#include <belay/belay.h>
#include <stdio.h>

/* Prints the lines of the log that wait. */
static void print_log(belay_client* client) {
  belay_event* event;
  while ((event = belay_next(client, 0)) != NULL) {
    int32_t kind = belay_event_kind(event);
    if (kind == BELAY_EVENT_LOG) {
      printf("log, level %lld, %lld lost before: %s\n",
             (long long)belay_event_int(event, BELAY_FIELD_LEVEL),
             (long long)belay_event_int(event, BELAY_FIELD_DROPPED), belay_event_message(event));
    }
    belay_event_free(event);
    if (kind == BELAY_EVENT_END) {
      return;
    }
  }
}

static void print_metrics(belay_client* client) {
  belay_event* event = NULL;
  belay_client_metrics(client, &event);
  int64_t count = belay_event_int(event, BELAY_FIELD_MEMBERS);
  for (int32_t i = 0; i < count; ++i) {
    printf("%s %lld\n", belay_event_member_text(event, i, BELAY_MEMBER_NAME, NULL),
           (long long)belay_event_member_int(event, i, BELAY_MEMBER_VALUE));
  }
  belay_event_free(event);
}

int main(void) {
  belay_options* options = belay_options_new();
  belay_options_set(options, "log_events", "info");
  belay_client* client = belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "%s\n", belay_options_error(options));
    return 1;
  }
  belay_options_free(options);
  int64_t hold = belay_lock(client, "report", -1, 5000, NULL);
  if (hold > 0) {
    belay_release(client, hold);
  }
  print_log(client);
  print_metrics(client);
  belay_client_free(client);
  return hold < 0;
}
