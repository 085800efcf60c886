// Which submission is meant, for whoever comes back to it later. A caller may use a tag again as
// soon as its submission has ended; the order is never given twice. A value.
#pragma once

#include <cstdint>

namespace belay {

struct PendingRef {
  std::int64_t tag = 0;
  std::uint64_t order = 0;  // 0: none is meant

  [[nodiscard]] bool any() const { return order != 0; }

  bool operator==(const PendingRef& other) const = default;
};

}  // namespace belay
