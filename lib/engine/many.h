// What the engine asks of locks beside what any primitive does: several names taken by one command,
// all or none, and left by one. Pure functions. Implemented in lib/primitive; a request for several
// names brings it.
#pragma once

#include <optional>
#include <vector>

#include "engine/primitive.h"

namespace belay {

// A name of several that one command asks for, with one lease and not-after for all.
struct ManyPart {
  const Resource* resource = nullptr;
  AcquireArgs args;
};

// A name of several that one command leaves.
struct ManyLeft {
  const Resource* resource = nullptr;
  LeaveArgs args;
};

class ManyNames {
 public:
  ManyNames() = default;
  virtual ~ManyNames() = default;
  ManyNames(const ManyNames&) = delete;
  ManyNames& operator=(const ManyNames&) = delete;

  [[nodiscard]] virtual Command acquire(const std::vector<ManyPart>& parts) const = 0;
  [[nodiscard]] virtual Command leave(const std::vector<ManyLeft>& parts) const = 0;
  // An answer for each of `count` names, all with one code; none where the reply is not what the
  // script gives.
  [[nodiscard]] virtual std::optional<std::vector<AcquireAnswer>> read(Reply reply,
                                                                       std::size_t count) const = 0;
  // An answer for each of `count` names; none where the reply is not what the script gives.
  [[nodiscard]] virtual std::optional<std::vector<LeaveAnswer>> read_leave(
      Reply reply, std::size_t count) const = 0;
};

}  // namespace belay
