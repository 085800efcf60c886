// What the engine asks of the protocol on the server: what each kind of name is, how holds are
// kept, messages read, names looked at, and how several locks are taken and left by one command.
// Pure functions: no state but the client's identity. Implemented in lib/dialect, given to the
// core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "engine/answers.h"
#include "engine/message.h"
#include "engine/primitive.h"
#include "engine/want.h"
#include "net/resp.h"
#include "route/command.h"
#include "route/inbox.h"

namespace belay {

// A name of several that one command asks for, with one lease and not-after for all.
struct AcquirePart {
  const Resource* resource = nullptr;
  AcquireArgs args;
};

// A name of several that one command leaves.
struct LeavePart {
  const Resource* resource = nullptr;
  LeaveArgs args;
};

// A claim that is renewed together with others.
struct RenewPart {
  const Resource* resource = nullptr;
  RenewArgs args;
};

class Dialect {
 public:
  Dialect() = default;
  virtual ~Dialect() = default;
  Dialect(const Dialect&) = delete;
  Dialect& operator=(const Dialect&) = delete;

  [[nodiscard]] virtual const Primitive& of(Kind kind) const = 0;
  [[nodiscard]] virtual Resource resource(std::string_view name) const = 0;
  // Where we hear what is published to us.
  [[nodiscard]] virtual Inbox inbox() const = 0;

  [[nodiscard]] virtual Command renew_all(const std::vector<RenewPart>& parts,
                                          std::int64_t highest_fence,
                                          ServerTime not_after) const = 0;
  [[nodiscard]] virtual Command inspect(const Resource& resource) const = 0;
  [[nodiscard]] virtual Command break_name(const Resource& resource, std::int64_t fence,
                                           std::int64_t highest_fence,
                                           ServerTime not_after) const = 0;

  // Answers; none where a reply is not what the script gives.
  [[nodiscard]] virtual std::optional<RenewAnswers> read_renew(Reply reply) const = 0;
  [[nodiscard]] virtual std::optional<Inspection> read_inspect(Reply reply) const = 0;
  [[nodiscard]] virtual std::optional<Inspection> read_force(Reply reply) const = 0;
  // The server's time, where any script says that it came after its not-after and did nothing.
  [[nodiscard]] virtual std::optional<ServerTime> read_late(Reply reply) const = 0;
  [[nodiscard]] virtual std::optional<Message> read_message(std::string_view payload) const = 0;

  // SCAN's pattern for all names in use, and the name behind a key that it found.
  [[nodiscard]] virtual std::string scan_pattern() const = 0;
  [[nodiscard]] virtual std::optional<std::string> name_of_key(std::string_view key) const = 0;

  // Several locks by one command, all or none; and left by one.
  [[nodiscard]] virtual Command acquire_all(const std::vector<AcquirePart>& parts) const = 0;
  [[nodiscard]] virtual Command leave_all(const std::vector<LeavePart>& parts) const = 0;
  // An answer for each of `count` names, all with one code; none where the reply is not what the
  // script gives.
  [[nodiscard]] virtual std::optional<std::vector<AcquireAnswer>> read_acquire_all(
      Reply reply, std::size_t count) const = 0;
  // An answer for each of `count` names; none where the reply is not what the script gives.
  [[nodiscard]] virtual std::optional<std::vector<LeaveAnswer>> read_leave_all(
      Reply reply, std::size_t count) const = 0;
};

}  // namespace belay
