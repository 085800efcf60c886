// What an error reply means for whoever sent the command. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "net/resp.h"

namespace belay {

enum class Remedy : std::uint8_t {
  kAskAgain,   // nothing happened; the same command may go out at once
  kWait,       // nothing happened; it may pass by itself
  kReconnect,  // this connection is of no use any more
  kGiveUp      // somebody has to change something
};

struct ServerError {
  Remedy remedy;
  std::int32_t status;  // what to tell where it does not pass
};

ServerError classify_error(std::string_view error);

// The words of an error reply; of any other, which then is not what the script gives, that it is
// not.
std::string_view error_words(Reply reply);

}  // namespace belay
