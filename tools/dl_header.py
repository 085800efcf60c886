#!/usr/bin/env python3
"""Prints include/belay/dl.h, made from belay.h: tools/dl_header.py >include/belay/dl.h"""
import pathlib
import re

HEADER = pathlib.Path(__file__).resolve().parent.parent / "include/belay/belay.h"
FUNCTION = re.compile(r"BELAY_API (?:BELAY_MUST_USE )?([^;()]*?)(belay_\w+)\(([^()]*)\);")

TOP = """\
/* Generated from belay.h by tools/dl_header.py: do not edit.
 *
 * For programs that load Belay while they run, and do not link it. One struct has a pointer to each function
 * of belay.h, under the function's name:
 *
 *   struct belay_dl belay;
 *   const char *error = belay_dl_load(&belay, NULL);
 *   if (error == NULL) {
 *     belay_options *options = belay.belay_options_new();
 *     ...
 *
 * Needs -ldl where the C library has no dlopen of its own (glibc before 2.34).
 */
#ifndef BELAY_DL_H
#define BELAY_DL_H

#include <belay/belay.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The library that has BELAY_ABI. */
#define BELAY_DL_SONAME "libbelay.so.%s"

/* clang-format off */
struct belay_dl {
  void* library;   /* dlclose() takes it; the code stays in memory, as the library's threads may be in it */
  char error[256]; /* what belay_dl_load returned, unless that was NULL */
"""

LOAD = """\
};

/* Looks one function up. For belay_dl_load. */
static inline int belay_dl_find(struct belay_dl* dl, const char* name, void* function) {
  void* found = dlsym(dl->library, name);
  memcpy(function, &found, sizeof found);
  if (found == NULL) {
    snprintf(dl->error, sizeof dl->error, "the library has no %s", name);
  }
  return found != NULL;
}

/* Looks all functions up, if the library has the ABI of this header. For belay_dl_load. */
static inline int belay_dl_find_all(struct belay_dl* dl) {
  if (!belay_dl_find(dl, "belay_abi", &dl->belay_abi)) {
    return 0;
  }
  if (dl->belay_abi() != BELAY_ABI) {
    snprintf(dl->error, sizeof dl->error, "the library has ABI %d, and this program needs %d", (int)dl->belay_abi(), BELAY_ABI);
    return 0;
  }
"""

END = """\
}

/* Load the library `path`, NULL for BELAY_DL_SONAME wherever the system looks for libraries, and fill `dl`.
 * Returns NULL, or the error, which is part of `dl`: then all pointers are NULL, and nothing stays loaded. */
static inline const char* belay_dl_load(struct belay_dl* dl, const char* path) {
  memset(dl, 0, sizeof *dl);
  dl->library = dlopen(path != NULL ? path : BELAY_DL_SONAME, RTLD_NOW | RTLD_LOCAL);
  if (dl->library == NULL) {
    const char* error = dlerror();
    snprintf(dl->error, sizeof dl->error, "%s", error != NULL ? error : "dlopen failed");
    return dl->error;
  }
  if (!belay_dl_find_all(dl)) {
    char error[sizeof dl->error];
    memcpy(error, dl->error, sizeof error);
    dlclose(dl->library);
    memset(dl, 0, sizeof *dl);
    memcpy(dl->error, error, sizeof error);
    return dl->error;
  }
  return NULL;
}

/* clang-format on */

#endif
"""


def functions(header):
    """Result, name and parameters of each function, in the order of the header."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.DOTALL)
    return FUNCTION.findall(" ".join(text.split()))


def main():
    header = HEADER.read_text(encoding="utf-8")
    found = functions(header)
    abi = re.search(r"^#define BELAY_ABI (\d+)$", header, flags=re.MULTILINE).group(1)
    pointers = "".join(f"  {result}(*{name})({parameters});\n" for result, name, parameters in found)
    finds = " &&\n         ".join(f'belay_dl_find(dl, "{name}", &dl->{name})' for _, name, _ in found)
    print(TOP % abi + pointers + LOAD + f"  return {finds};\n" + END, end="")


if __name__ == "__main__":
    main()
