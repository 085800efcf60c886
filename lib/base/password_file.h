// Reads a password from a file that somebody else may have made. Any thread; may wait for a pipe.
#pragma once

#include <string>

#include "base/secret.h"
#include "base/status.h"

namespace belay {

struct PasswordFile {
  Secret password;
  std::string warning;  // "" where nobody else may read or write the file
};

// The first line of a regular file, or of a pipe (as of a shell's <(COMMAND)), for which it waits
// 5 s at most. No message has the path: it may be a password that was given in its place.
Result<PasswordFile> read_password_file(const char* path);

}  // namespace belay
