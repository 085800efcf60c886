#include "api/option_table.h"

#include <array>
#include <charconv>

#include "base/address_map.h"

namespace belay {

namespace {

constexpr std::int64_t kMs = kMillisecond;
constexpr std::int64_t kMaxPath = 4095;
constexpr std::int64_t kMaxUser = 255;
constexpr std::int64_t kMaxMap = 65536;

// "1.2" of 12.
std::string version_name(std::int64_t version) {
  return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

Status refused(const Option& option, const std::string& value) {
  return {BELAY_INVALID_ARGUMENT,
          std::string(option.name) + " was " + value + ": " + option.range() + " is allowed"};
}

}  // namespace

const Option kOptionTable[kOptions] = {
    {.name = "url",
     .about = "the server",
     .variable = "BELAY_URL",
     .fallback = "redis://localhost:6379"},
    {.name = "user", .about = "the ACL user, instead of the URL's"},
    {.name = "password", .about = "the password, instead of the URL's", .secret = true},
    {.name = "password_file", .about = "a file with the password in its first line"},
    {.name = "label",
     .about = "what inspect shows of this client",
     .high = 64,
     .text = &Config::label,
     .type = OptionType::kText},
    {.name = "prefix",
     .about = "the prefix of all keys and channels",
     .low = 1,
     .high = 64,
     .text = &Config::prefix,
     .forbidden = "{}",
     .type = OptionType::kText},
    {.name = "watchdog_lease_ms",
     .unit = "ms",
     .about = "the lease of holds that the client renews",
     .low = kMinLease / kMs,
     .high = kMaxLease / kMs,
     .scale = kMs,
     .number = &Config::watchdog_lease,
     .type = OptionType::kNumber},
    {.name = "request_timeout_ms",
     .unit = "ms",
     .about = "how long a call waits for the server",
     .low = 10,
     .high = kMaxRequestTimeout / kMs,
     .scale = kMs,
     .number = &Config::request_timeout,
     .type = OptionType::kNumber},
    {.name = "max_hold_ms",
     .unit = "ms",
     .about = "for how long the client renews a hold, 0 without limit",
     .low = 100,
     .high = kMonthMs,
     .scale = kMs,
     .number = &Config::max_hold,
     .type = OptionType::kNumber,
     .zero_allowed = true},
    {.name = "max_pending",
     .about = "how many submissions may be pending at once",
     .low = 1,
     .high = 10'000'000,
     .number = &Config::max_pending,
     .type = OptionType::kNumber},
    {.name = "log_level",
     .about = "what the client writes to stderr",
     .variable = "BELAY_LOG",
     .low = BELAY_LOG_NONE,
     .high = BELAY_LOG_DEBUG,
     .number = &Config::log_level,
     .type = OptionType::kLevel},
    {.name = "log_events",
     .about = "what the client tells by LOG events",
     .low = BELAY_LOG_NONE,
     .high = BELAY_LOG_DEBUG,
     .number = &Config::log_events,
     .type = OptionType::kLevel},
    {.name = "tls_ca_file",
     .about = "of rediss://: a file with the CAs to trust, instead of the system's",
     .variable = "BELAY_TLS_CA_FILE",
     .high = kMaxPath,
     .text = &Config::tls_ca_file,
     .type = OptionType::kText},
    {.name = "tls_ca_dir",
     .about = "of rediss://: a folder with the CAs to trust, as openssl rehash makes it",
     .variable = "BELAY_TLS_CA_DIR",
     .high = kMaxPath,
     .text = &Config::tls_ca_dir,
     .type = OptionType::kText},
    {.name = "tls_cert_file",
     .about = "of rediss://: a file with the client's certificate",
     .variable = "BELAY_TLS_CERT_FILE",
     .high = kMaxPath,
     .text = &Config::tls_cert_file,
     .type = OptionType::kText},
    {.name = "tls_key_file",
     .about = "of rediss://: a file with its key, if not the same",
     .variable = "BELAY_TLS_KEY_FILE",
     .high = kMaxPath,
     .text = &Config::tls_key_file,
     .type = OptionType::kText},
    {.name = "tls_server_name",
     .about = "of rediss://: the name that the server must prove, instead of the URL's host",
     .variable = "BELAY_TLS_SERVER_NAME",
     .high = 253,
     .text = &Config::tls_server_name,
     .type = OptionType::kText},
    {.name = "tls_min_version",
     .about = "of rediss://: the oldest version of TLS to speak",
     .variable = "BELAY_TLS_MIN_VERSION",
     .low = kTls12,
     .high = kTls13,
     .number = &Config::tls_min_version,
     .type = OptionType::kVersion},
    {.name = "sentinel_user",
     .about = "of redis-sentinel://: the ACL user of the sentinels",
     .variable = "BELAY_SENTINEL_USER",
     .high = kMaxUser,
     .text = &Config::sentinel_user,
     .type = OptionType::kText},
    {.name = "sentinel_password",
     .about = "of redis-sentinel://: the password of the sentinels",
     .variable = "BELAY_SENTINEL_PASSWORD",
     .hidden = &Config::sentinel_password,
     .type = OptionType::kSecret,
     .secret = true},
    {.name = "address_map",
     .about = "where servers are reached that announce other addresses",
     .variable = "BELAY_ADDRESS_MAP",
     .high = kMaxMap,
     .text = &Config::address_map,
     .type = OptionType::kMap},
};

std::string Option::range() const {
  const std::string numbers = std::to_string(low) + ".." + std::to_string(high);
  switch (type) {
    case OptionType::kNumber:
      return (zero_allowed ? "0, " : "") + numbers;
    case OptionType::kLevel:
      return "none, error, warning, info, debug, " + numbers;
    case OptionType::kVersion:
      return version_name(low) + ", " + version_name(high);
    case OptionType::kText:
      return numbers + " bytes" + (forbidden[0] == 0 ? "" : " without braces");
    case OptionType::kMap:
      return "announced=reachable,..., each host:port, " + numbers + " bytes";
    default:
      return "";
  }
}

std::string Option::value_in(const Config& config) const {
  if (type == OptionType::kLevel) {
    return log_level_name(config.*number);
  }
  if (type == OptionType::kVersion) {
    return version_name(config.*number);
  }
  return text != nullptr     ? config.*text
         : number != nullptr ? std::to_string(config.*number / scale)
                             : fallback;
}

Status Option::set_number(std::int64_t value, Config* config) const {
  if ((value < low || value > high) && !(zero_allowed && value == 0)) {
    return refused(*this, std::to_string(value));
  }
  config->*number = value * scale;
  return {};
}

Status Option::set_text(const std::string& value, Config* config) const {
  if (type == OptionType::kSecret) {
    config->*hidden = Secret(std::string_view(value));
    return {};
  }
  if (type == OptionType::kText || type == OptionType::kMap) {
    return set_words(value, config);
  }
  if (type == OptionType::kVersion) {
    for (std::int64_t version = low; version <= high; ++version) {
      if (value == version_name(version)) {
        return set_number(version, config);
      }
    }
    return refused(*this, "'" + value + "'");
  }
  if (const std::int32_t level = log_level_of(value); type == OptionType::kLevel && level >= 0) {
    return set_number(level, config);
  }
  std::int64_t parsed = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, parsed);
  return error == std::errc() && stop == end ? set_number(parsed, config)
                                             : refused(*this, "'" + value + "'");
}

Status Option::set_words(const std::string& value, Config* config) const {
  const auto size = static_cast<std::int64_t>(value.size());
  if (size < low || size > high || value.find_first_of(forbidden) != std::string::npos) {
    return refused(*this, "'" + value + "'");
  }
  if (const std::string flaw = type == OptionType::kMap ? AddressMap::flaw(value) : "";
      !flaw.empty()) {
    return {BELAY_INVALID_ARGUMENT, std::string(name) + " was '" + value + "': " + flaw};
  }
  config->*text = value;
  return {};
}

void Option::copy(const Config& from, Config* to) const {
  if (number != nullptr) {
    to->*number = from.*number;
  }
  if (text != nullptr) {
    to->*text = from.*text;
  }
  if (hidden != nullptr) {
    to->*hidden = from.*hidden;
  }
}

const Option* find_option(std::string_view name) {
  for (const Option& option : kOptionTable) {
    if (name == option.name) {
      return &option;
    }
  }
  return nullptr;
}

}  // namespace belay
