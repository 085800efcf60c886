// Reads a password from a file that somebody else may have made. Any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/secret.h"
#include "base/status.h"

namespace belay {

// Where a password can be read again.
struct PasswordOrigin {
  std::string path;  // "": nowhere
  uid_t reader = 0;  // the user who has read it
};

struct PasswordFile {
  Secret password;
  std::string warning;    // "" where nobody else may read or write the file
  PasswordOrigin origin;  // of a regular file: what a pipe had is gone
};

// The first line of a regular file, or of a pipe (as of a shell's <(COMMAND)), for which it waits
// 5 s at most. No message has the path where that may be a password that was given in its place.
Result<PasswordFile> read_password_file(const char* path);

// What the file has by now, which may be another one: UNAVAILABLE says why it is of no use just
// now. Waits for no pipe. Without a password, and with a warning: the process has become another
// user since, who may not read it, so that the password from before is the one to use.
Result<PasswordFile> read_again(const PasswordOrigin& origin);

}  // namespace belay
