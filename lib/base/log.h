// One-line messages to stderr, for whoever asked for them. Thread-safe: a line is one write(2).
#pragma once

#include <cstdint>
#include <string>

#include "belay/belay.h"

namespace belay {

class Log {
 public:
  explicit Log(std::int32_t level) : level_(level) {}

  [[nodiscard]] bool enabled(std::int32_t level) const { return level <= level_; }

  void write(std::int32_t level, const std::string& message) const;

 private:
  std::int32_t level_;
};

}  // namespace belay
