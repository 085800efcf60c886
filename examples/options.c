/* Options by name: lists them, or sets those that are given and asks the server for a sign of life.
 * Usage: options [NAME=VALUE...] */
#include <belay/belay.h>
#include <stdio.h>
#include <string.h>

/* A line of the table in docs/c-api.md. */
static void list(const char* name) {
  printf("| %s |", name);
  for (int32_t what = BELAY_OPTION_ABOUT; what <= BELAY_OPTION_VARIABLE; ++what) {
    const char* text = belay_option_text(name, what);
    printf("%s%s |", text[0] == '\0' ? "" : " ", text);
  }
  printf("\n");
}

static void set(belay_options* options, const char* setting) {
  char name[64];
  const char* value = strchr(setting, '=');
  snprintf(name, sizeof name, "%.*s", (int)strcspn(setting, "="), setting);
  belay_options_set(options, name, value == NULL ? "" : value + 1); /* an error is kept */
}

int main(int argc, char** argv) {
  for (int32_t i = 0; argc == 1 && belay_option_name(i) != NULL; ++i) {
    list(belay_option_name(i));
  }
  if (argc == 1) {
    return 0;
  }
  belay_options* options = belay_options_new();
  for (int i = 1; i < argc; ++i) {
    set(options, argv[i]);
  }
  belay_client* client = belay_client_new(options); /* also fails if an option was wrong */
  if (client == NULL) {
    fprintf(stderr, "%s\n", belay_options_error(options));
    belay_options_free(options);
    return 1;
  }
  belay_options_free(options);
  int32_t status = belay_client_ping(client, NULL);
  printf("the server: %s\n", belay_status_name(status));
  belay_client_free(client);
  return status != BELAY_OK;
}
