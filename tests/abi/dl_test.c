/* Loads the library with nothing but belay/dl.h, and what is no library of this ABI. Links no
 * Belay. Usage: dl_test LIBRARY OTHER_ABI */
#include <belay/dl.h>

static int passed, failed;

static void check(const char* what, int holds) {
  if (holds) {
    ++passed;
  } else {
    ++failed;
    printf("not so: %s\n", what);
  }
}

static int works(const struct belay_dl* belay) {
  belay_options* options = belay->belay_options_new();
  const int refused = belay->belay_options_set_url(options, "ftp://x") == BELAY_UNSUPPORTED_URL;
  const int told = belay->belay_options_error(options)[0] != '\0';
  belay->belay_options_free(options);
  return refused && told && strcmp(belay->belay_status_name(BELAY_LOST), "LOST") == 0;
}

/* All pointers are NULL: bytes other than those of the error are 0. */
static int is_empty(struct belay_dl belay) {
  static struct belay_dl none;
  memset(belay.error, 0, sizeof belay.error);
  return memcmp(&belay, &none, sizeof none) == 0;
}

static int is_refused(const char* path, const char* error) {
  struct belay_dl belay;
  const char* told = NULL;
  memset(&belay, 0xFF, sizeof belay);
  told = belay_dl_load(&belay, path);
  if (told != NULL && strstr(told, error) == NULL) {
    printf("%s\n", told);
  }
  return told != NULL && strstr(told, error) != NULL && is_empty(belay);
}

int main(int argc, char** argv) {
  struct belay_dl belay;
  if (argc != 3) {
    return 64;
  }
  check("the library is loaded from its path",
        belay_dl_load(&belay, argv[1]) == NULL && works(&belay));
  check("the library can be closed", dlclose(belay.library) == 0);
  check("the library is found by its SONAME", belay_dl_load(&belay, NULL) == NULL && works(&belay));
  dlclose(belay.library);
  check("a missing file is told", is_refused("/nowhere/libbelay.so.1", "/nowhere/libbelay.so.1"));
  check("another library is told", is_refused("libc.so.6", "the library has no belay_abi"));
  check("another ABI is told",
        is_refused(argv[2], "the library has ABI 2, and this program needs 1"));
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
