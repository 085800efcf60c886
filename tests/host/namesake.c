// A host that exports functions of all names of belay.h, or has a second copy of the library: none
// may ever be called by the one that it loads. `namesake URL` lives one client's life. The
// functions themselves are in namesakes.c, which the build makes from exports.map.
#include <belay/dl.h>

static struct belay_dl belay;

// By its name, as some setters are called by others.
static int set_all_options(belay_options* options, const char* url) {
  int failed = belay.belay_options_set(options, "url", url);
  failed += belay.belay_options_set(options, "user", "default");
  failed += belay.belay_options_set(options, "label", "namesake");
  failed += belay.belay_options_set(options, "log_level", "none");
  failed += belay.belay_options_set(options, "password", "") != BELAY_OK;
  belay_options* others = belay.belay_options_new();
  failed += belay.belay_options_set(others, "password_file", "/dev/null") == BELAY_OK;
  belay.belay_options_free(others);
  return failed;
}

static int use(belay_client* client) {
  const int64_t hold = belay.belay_lock(client, "a", -1, -1, NULL);
  int failed = hold <= 0;
  failed += belay.belay_verify(client, hold, NULL) != BELAY_OK;
  failed += belay.belay_release(client, hold) != BELAY_OK;
  belay_request* request = belay.belay_request_new(BELAY_SEMAPHORE);
  failed += belay.belay_request_add_name(request, "s", -1) != BELAY_OK;
  failed += belay.belay_request_set_permits(request, 1, 2) != BELAY_OK;
  const int64_t permit = belay.belay_acquire(client, request, 0, 0, NULL);
  failed += belay.belay_release_nowait(client, permit) != BELAY_OK;
  belay.belay_request_free(request);
  failed += belay.belay_submit_ping(client, 1) != BELAY_OK;
  belay_event* event = belay.belay_next(client, -1);
  failed += belay.belay_event_status(event) != BELAY_OK;
  belay.belay_event_free(event);
  failed += belay.belay_status_class(-BELAY_BUSY) != BELAY_CLASS_RETRY;
  failed += belay.belay_client_shutdown(client) != BELAY_OK;
  return failed;
}

int main(int argc, char** argv) {
  const char* const error = belay_dl_load(&belay, BELAY_LIBRARY);
  if (error != NULL || argc != 2) {
    fprintf(stderr, "  %s\n", error != NULL ? error : "namesake URL");
    return 64;
  }
  belay_options* options = belay.belay_options_new();
  int failed = set_all_options(options, argv[1]);
  belay_client* client = belay.belay_client_new(options);
  if (client == NULL) {
    fprintf(stderr, "  %s\n", belay.belay_options_error(options));
    return 1;
  }
  failed += use(client);
  belay.belay_client_free(client);
  belay.belay_options_free(options);
  return failed == 0 ? 0 : 1;
}
