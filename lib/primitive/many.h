// Several locks by one command. Stateless but for who this client is; usable from any thread.
#pragma once

#include "engine/many.h"
#include "primitive/lock.h"

namespace belay {

class ManyLocks final : public ManyNames {
 public:
  explicit ManyLocks(Identity identity) : me_(std::move(identity)) {}

  [[nodiscard]] Command acquire(const std::vector<ManyPart>& parts) const override;
  [[nodiscard]] Command leave(const std::vector<ManyLeft>& parts) const override;
  [[nodiscard]] std::optional<std::vector<AcquireAnswer>> read(Reply reply,
                                                               std::size_t count) const override;
  [[nodiscard]] std::optional<std::vector<LeaveAnswer>> read_leave(
      Reply reply, std::size_t count) const override;

 private:
  [[nodiscard]] Command take(const std::vector<ManyPart>& parts) const;
  [[nodiscard]] Command acquire_any(const std::vector<ManyPart>& parts) const;
  [[nodiscard]] Command release(const std::vector<ManyLeft>& parts) const;
  [[nodiscard]] Command leave_any(const std::vector<ManyLeft>& parts) const;

  const Identity me_;
};

}  // namespace belay
