// What a client is made with: the options in checked form. A value; immutable once a client has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/contract.h"
#include "base/endpoint.h"
#include "base/secret.h"
#include "base/status.h"

namespace belay {

// What the library was built with.
#ifdef BELAY_TLS
inline constexpr bool kHasTls = true;
#else
inline constexpr bool kHasTls = false;
#endif

// Versions of TLS, as options know them.
inline constexpr std::int64_t kTls12 = 12;
inline constexpr std::int64_t kTls13 = 13;

struct Config {
  Credentials credentials;
  std::string sentinel_user;
  Secret sentinel_password;
  std::string address_map;  // see AddressMap
  std::int32_t database = 0;
  std::string label;
  std::string prefix = "belay:";
  Micros watchdog_lease = 30 * kSecond;
  Micros request_timeout = 5 * kSecond;
  Micros max_hold = 0;  // 0: no limit
  std::int64_t max_pending = 100'000;
  std::int64_t log_level = BELAY_LOG_NONE;
  std::int64_t log_events = BELAY_LOG_NONE;
  // Of rediss://; "" where nothing was said.
  std::string tls_ca_file;
  std::string tls_ca_dir;
  std::string tls_cert_file;
  std::string tls_key_file;
  std::string tls_server_name;
  std::int64_t tls_min_version = kTls12;
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
// The highest fence, and generation of a latch.
inline constexpr std::int64_t kMaxFence = contract::kMostFence;

// How far before the end of a lease we stop believing in it.
constexpr Micros lease_margin(Micros lease) {
  return lease / 100 + 10 * kMillisecond;
}

// The defaults, with this program's label.
Config default_config();

// A value of the environment, "" where there is none, and in a program that runs with more rights
// than its user. The host must not change the environment meanwhile, as for any getenv.
std::string_view environment(const char* name);
// Takes what BELAY_LOG says, if it is set.
Status read_log_variable(Config* config);

// 1..4 for "error".."debug", 0 for "none", -1 for anything else.
std::int32_t log_level_of(const std::string& name);
const char* log_level_name(std::int64_t level);

}  // namespace belay
