// What the engine asks of a dialect about a kind of name: how a claim on it is made and given up on
// the server, and what it does otherwise than other kinds. Pure functions. Implemented in
// lib/dialect.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "engine/answers.h"
#include "engine/query.h"
#include "engine/want.h"
#include "net/resp.h"
#include "route/command.h"

namespace belay {

class Primitive {
 public:
  Primitive() = default;
  virtual ~Primitive() = default;
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;

  [[nodiscard]] virtual Kind kind() const = 0;
  // Whether each acquire is a claim of its own; else those of one name share one.
  [[nodiscard]] virtual bool claim_per_request() const = 0;
  // Whether nobody holds it: those who share a claim wait for the same and go on together; else
  // they have it in turn.
  [[nodiscard]] virtual bool waits_only() const = 0;
  // Words for a refusal: it is somebody else's; nobody has made it.
  [[nodiscard]] virtual Status busy(std::string_view name) const = 0;
  [[nodiscard]] virtual Status missing(std::string_view name) const = 0;
  [[nodiscard]] virtual Resource resource(std::string_view name) const = 0;

  // What tells whether this generation of it has ended; none where there are no generations.
  [[nodiscard]] virtual std::unique_ptr<Query> generation_query(std::string_view /*name*/,
                                                                std::int64_t /*generation*/) const {
    return nullptr;
  }

  [[nodiscard]] virtual Command acquire(const Resource& resource,
                                        const AcquireArgs& args) const = 0;
  [[nodiscard]] virtual Command leave(const Resource& resource, const LeaveArgs& args) const = 0;

  // Answers; none where a reply is not what the script gives.
  [[nodiscard]] virtual std::optional<AcquireAnswer> read_acquire(Reply reply) const = 0;
  [[nodiscard]] virtual std::optional<LeaveAnswer> read_leave(Reply reply) const = 0;
};

}  // namespace belay
