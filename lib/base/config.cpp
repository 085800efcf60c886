#include "base/config.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

namespace belay {

namespace {

constexpr std::array<const char*, 5> kLevels{"none", "error", "warning", "info", "debug"};

}  // namespace

std::int32_t log_level_of(const std::string& name) {
  for (std::size_t level = 0; level < kLevels.size(); ++level) {
    if (name == kLevels[level]) {
      return static_cast<std::int32_t>(level);
    }
  }
  return -1;
}

const char* log_level_name(std::int64_t level) {
  return kLevels[static_cast<std::size_t>(level)];
}

Config default_config() {
  Config config;
  config.label = program_invocation_short_name;
  config.label.resize(std::min<std::size_t>(config.label.size(), 64));
  return config;
}

std::string_view environment(const char* name) {
  const char* value = secure_getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::string_view() : std::string_view(value);
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
