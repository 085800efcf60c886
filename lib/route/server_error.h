// What an error reply means for whoever sent the command. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/resp.h"

namespace belay {

enum class Remedy : std::uint8_t {
  kAskAgain,   // nothing happened; the same command may go out at once
  kWait,       // nothing happened; it may pass by itself
  kReconnect,  // it is a replica by now: this connection is of no use any more
  kGiveUp      // somebody has to change something
};

struct ServerError {
  Remedy remedy;
  std::int32_t status;  // what to tell where it does not pass
  // The script had begun: it may have written something before.
  bool halfway = false;
};

ServerError classify_error(std::string_view error);

// An error's words, and where they are about a user, of whom; "": the default user.
std::string explained(std::string_view words, std::string_view user);

// The words of an error reply; of any other, which then is not what the script gives, that it is
// not.
std::string_view error_words(Reply reply);

}  // namespace belay
