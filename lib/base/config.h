// What a client is made with: the options in checked form. A value; immutable once a client has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/secret.h"
#include "base/status.h"

namespace belay {

// Where a server is. `path` is set for a unix socket, otherwise host and port.
struct ServerAddress {
  std::string host = "localhost";
  std::uint16_t port = 6379;
  std::string path;
  std::int32_t database = 0;
  std::string user;
  Secret password;

  // "host:port" or the path, for messages; never the user or password.
  [[nodiscard]] std::string display() const;

  // Words of the server's, for a message: our password is *** in them. Where there is none, the
  // user is: a lone word in a URL may have been meant as a password.
  [[nodiscard]] std::string masked(std::string_view words) const;
};

struct Config {
  ServerAddress server;
  std::string label;
  std::string prefix = "belay:";
  Micros watchdog_lease = 30 * kSecond;
  Micros request_timeout = 5 * kSecond;
  Micros max_hold = 0;  // 0: no limit
  std::int64_t max_pending = 100'000;
  std::int64_t log_level = BELAY_LOG_NONE;
  std::int64_t log_events = BELAY_LOG_NONE;
};

// Bounds and measures of the protocol; the reasons are in lib/README.md.
inline constexpr Micros kMinLease = 100 * kMillisecond;
inline constexpr Micros kMaxLease = kSecond * 3600 * 24;
inline constexpr Micros kMaxRequestTimeout = kSecond * 3600;
inline constexpr Micros kMaxLockDelay = kSecond * 60;
// The longest time in milliseconds that an option or a call may say, other than a lease: 30 days.
inline constexpr std::int64_t kMonthMs = std::int64_t{30} * 24 * 3600 * 1000;
inline constexpr std::size_t kMaxNameSize = 1024;
inline constexpr std::int64_t kMaxId = (std::int64_t{1} << 53) - 1;
// The highest fence, and generation of a latch: MOST_FENCE of the scripts.
inline constexpr std::int64_t kMaxFence = std::int64_t{1} << 52;

// How far before the end of a lease we stop believing in it.
constexpr Micros lease_margin(Micros lease) {
  return lease / 100 + 10 * kMillisecond;
}

// The defaults, with this program's label.
Config default_config();

// What BELAY_URL says, "" if it is not set.
std::string_view url_variable();
// Takes what BELAY_LOG says, if it is set.
Status read_log_variable(Config* config);

// 1..4 for "error".."debug", 0 for "none", -1 for anything else.
std::int32_t log_level_of(const std::string& name);
const char* log_level_name(std::int64_t level);

}  // namespace belay
