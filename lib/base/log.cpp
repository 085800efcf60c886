#include "base/log.h"

#include <unistd.h>

#include <array>
#include <cstddef>

namespace belay {

void Log::write(std::int32_t level, const std::string& message) const {
  static constexpr std::array<const char*, 5> kNames{"", "error", "warning", "info", "debug"};
  if (!enabled(level)) {
    return;
  }
  const std::string line =
      std::string("belay ") + kNames[static_cast<std::size_t>(level)] + ": " + message + "\n";
  // Nothing can be done about a stderr that does not take the line.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace belay
