#include "base/config.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include "base/url.h"

namespace belay {

namespace {

// A value of the environment, "" where there is none, and in a program that runs with more rights
// than its user. The host must not change the environment meanwhile, as for any getenv.
std::string_view environment(const char* name) {
  const char* value = secure_getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

std::string ServerAddress::display() const {
  if (!path.empty()) {
    return path;
  }
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string ServerAddress::masked(std::string_view words) const {
  return belay::masked(words, password.empty() ? std::string_view(user) : password.view());
}

std::int32_t log_level_of(const std::string& name) {
  static constexpr std::array<const char*, 5> kNames{"none", "error", "warning", "info", "debug"};
  for (std::size_t level = 0; level < kNames.size(); ++level) {
    if (name == kNames[level]) {
      return static_cast<std::int32_t>(level);
    }
  }
  return -1;
}

Config default_config() {
  Config config;
  config.label = program_invocation_short_name;
  config.label.resize(std::min<std::size_t>(config.label.size(), 64));
  return config;
}

Status read_url_variable(Config* config) {
  const std::string_view url = environment("BELAY_URL");
  if (url.empty()) {
    return {};
  }
  Result<ServerAddress> server = parse_url(url);
  if (!server.ok()) {
    return {server.status.code, "BELAY_URL: " + server.status.message};
  }
  config->server = std::move(server.value);
  return {};
}

Status read_log_variable(Config* config) {
  const std::string name(environment("BELAY_LOG"));
  if (name.empty()) {
    return {};
  }
  const std::int32_t level = log_level_of(name);
  if (level < 0) {
    return {BELAY_INVALID_ARGUMENT,
            "BELAY_LOG was '" + name + "': none, error, warning, info and debug are known"};
  }
  config->log_level = level;
  return {};
}

}  // namespace belay
