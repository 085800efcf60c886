// The outcome of an operation inside the library: a belay_status, one line for people, and until
// when an unknown outcome may matter. Values, owned by whoever holds them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/clock.h"
#include "belay/belay.h"

namespace belay {

// `text` as one line of UTF-8 for people: control bytes and what is no UTF-8 as \xNN, and cut where
// it is longer than any that we mean to write. Servers and callers have their words and names in
// it.
std::string one_line(std::string text);

struct [[nodiscard]] Status {
  std::int32_t code = BELAY_OK;
  std::string message;
  Micros in_doubt_until = 0;  // local time; 0: the outcome is known
  std::int32_t reason = 0;    // belay_reason, of a loss

  Status() = default;

  explicit Status(std::int32_t status) : code(status) {}

  Status(std::int32_t status, std::string text)
      : code(status), message(one_line(std::move(text))) {}

  [[nodiscard]] bool ok() const { return code == BELAY_OK; }
};

// A value, or why there is none.
template <typename Value>
struct [[nodiscard]] Result {
  Status status;
  Value value{};

  Result(Value good)
      : value(std::move(good)) {}  // NOLINT(google-explicit-constructor): reads as `return value`

  Result(Status bad) : status(std::move(bad)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return status.ok(); }
};

}  // namespace belay
