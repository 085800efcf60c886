// What an error reply means for whoever sent the command. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/endpoint.h"
#include "net/resp.h"

namespace belay {

enum class Remedy : std::uint8_t {
  kAskAgain,   // nothing happened; the same command may go out at once
  kWait,       // nothing happened; it may pass by itself
  kReconnect,  // it is a replica by now: this connection is of no use any more
  kGiveUp      // somebody has to change something
};

struct ServerError {
  Remedy remedy = Remedy::kGiveUp;
  std::int32_t status = 0;  // what to tell where it does not pass
  // The script had begun: it may have written something before.
  bool halfway = false;
  // The slot is on its way to another server: what names one key passes, on one of the two.
  bool moving = false;
};

ServerError classify_error(std::string_view error);

// An error's words as they may be shown: without the secrets that we sent, and with what they leave
// out. What an error means is read from the words as they came: any part of them may be
// somebody's password.
std::string explained(std::string_view words, const Credentials& us);

// The words of an error reply; of any other, which then is not what the script gives, that it is
// not.
std::string_view error_words(Reply reply);

}  // namespace belay
