#include "route/server_error.h"

#include <array>

#include "belay/belay.h"

namespace belay {

namespace {

struct Known {
  std::string_view code;
  ServerError error;
};

constexpr std::array<Known, 19> kKnown{{
    {"NOSCRIPT", {Remedy::kAskAgain, BELAY_UNAVAILABLE}},
    {"LOADING", {Remedy::kWait, BELAY_UNAVAILABLE}},
    {"BUSY", {Remedy::kWait, BELAY_UNAVAILABLE}},
    {"TRYAGAIN", {Remedy::kWait, BELAY_UNAVAILABLE, false, true}},
    {"CLUSTERDOWN", {Remedy::kWait, BELAY_UNAVAILABLE}},
    {"MASTERDOWN", {Remedy::kReconnect, BELAY_UNAVAILABLE}},
    {"NOREPLICAS", {Remedy::kWait, BELAY_UNAVAILABLE}},
    {"READONLY", {Remedy::kReconnect, BELAY_UNAVAILABLE}},
    {"NOAUTH", {Remedy::kGiveUp, BELAY_AUTH_FAILED}},
    {"WRONGPASS", {Remedy::kGiveUp, BELAY_AUTH_FAILED}},
    {"NOPERM", {Remedy::kGiveUp, BELAY_NOT_PERMITTED}},
    {"WRONGTYPE", {Remedy::kGiveUp, BELAY_WRONG_TYPE}},
    {"BELAYTYPE", {Remedy::kGiveUp, BELAY_WRONG_TYPE}},
    {"BELAYVERSION", {Remedy::kGiveUp, BELAY_WRONG_TYPE}},
    {"BELAYCOMMAND", {Remedy::kGiveUp, BELAY_INVALID_ARGUMENT}},
    {"NOPROTO", {Remedy::kGiveUp, BELAY_UNSUPPORTED_SERVER}},
    {"OOM", {Remedy::kGiveUp, BELAY_SERVER_ERROR}},
    {"MISCONF", {Remedy::kGiveUp, BELAY_SERVER_ERROR}},
    {"MOVED", {Remedy::kGiveUp, BELAY_UNSUPPORTED_SERVER}},
}};

}  // namespace

ServerError classify_error(std::string_view error) {
  // How Redis 7.0 and later words the lack of a right inside a script.
  if (error.starts_with("ERR ACL failure in script") ||
      error.starts_with("ERR The user executing the script can't")) {
    return {Remedy::kGiveUp, BELAY_NOT_PERMITTED, true};
  }
  // How Redis 6.2 words it inside a script that it has become a replica.
  if (error.starts_with("ERR Error running script") &&
      error.find(": -READONLY ") != std::string_view::npos) {
    return {Remedy::kReconnect, BELAY_UNAVAILABLE};
  }
  const std::string_view code = error.substr(0, error.find(' '));
  for (const Known& known : kKnown) {
    if (code == known.code) {
      return known.error;
    }
  }
  return {Remedy::kGiveUp, BELAY_SERVER_ERROR};
}

std::string explained(std::string_view words, const Credentials& us) {
  const std::int32_t status = classify_error(words).status;
  const bool about_user = status == BELAY_AUTH_FAILED || status == BELAY_NOT_PERMITTED;
  const bool moves = words.starts_with("TRYAGAIN") || words.starts_with("ASK ");
  return us.masked(words) +
         (about_user ? " (user '" + (us.user.empty() ? "default" : us.user) + "')" : "") +
         (moves ? " (its slot is moving to another server)" : "");
}

std::string_view error_words(Reply reply) {
  return reply.is_error() ? reply.text() : "ERR the reply is none of the script's";
}

}  // namespace belay
