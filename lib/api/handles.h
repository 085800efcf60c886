// What stands behind the opaque types of belay.h, and the checks that its functions share.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/live.h"
#include "api/option_table.h"
#include "base/config.h"
#include "base/status.h"
#include "client/client.h"
#include "engine/event.h"

struct belay_options {
  belay::Config defaults;                     // with the environment's, but for the URL
  belay::Config config;                       // what has become of them
  std::vector<belay::Endpoint> endpoints{1};  // as ServerUrl has them
  std::string master;
  bool of_cluster = false;
  std::set<const belay::Option*> chosen;  // that were set: no URL changes them
  std::optional<std::string> user;        // overrides the URL's
  std::optional<belay::Secret> password;
  belay::PasswordOrigin password_origin;
  belay::Status error;         // the first
  belay::Status url_variable;  // what is wrong with the environment's, unless a setter overrides it
  // What is wrong with another variable of the environment, unless its option was set.
  std::map<const belay::Option*, belay::Status> variables;
  std::map<const belay::Option*, std::string> values;  // as they were last asked for
  bool used = false;

  // The first thing that is wrong.
  [[nodiscard]] const belay::Status& trouble() const {
    return !error.ok() || (url_variable.ok() && variables.empty()) ? error
           : !url_variable.ok()                                    ? url_variable
                                                                   : variables.begin()->second;
  }
};

struct belay_request {
  belay::AcquireRequest request;
  belay::Kind kind = belay::Kind::kLock;
  std::string identity;
  belay::Status error;  // the first
  bool has_max_hold = false;
  mutable std::atomic<bool> used{false};
  belay::Live<belay_request> live{};
};

struct belay_words {
  std::vector<std::string> list;
  belay::Status error;  // the first
};

struct belay_event {
  belay::Event rep;
  belay::Live<belay_event> live{};
};

struct belay_client {
  std::unique_ptr<belay::Client> rep;
  belay::Live<belay_client> live{};
};

namespace belay {

// Of a semaphore.
inline constexpr std::int64_t kMostPermits = 0x7FFFFFFF;
// Of a fenced write's command: Lua's stack holds some thousands.
inline constexpr std::int64_t kMostWords = 1000;
// Of one of its words: Redis takes no longer string.
inline constexpr std::size_t kMaxWordSize = std::size_t{1} << 29;

// `low`..`high` bytes with their size, or -1 where NUL ends them; or why they are none.
Result<std::string_view> checked_bytes(const std::string& what, const char* bytes,
                                       std::int64_t size, std::size_t low, std::size_t high);

// A word of a fenced write's command.
Result<std::string_view> checked_word(const std::string& what, const char* word, std::int64_t size);

// A name, which has 1..`most` bytes; or what is like one.
Result<std::string_view> checked_name(const char* name, std::int64_t size,
                                      const char* what = "the name",
                                      std::size_t most = kMaxNameSize);

// OK, or INVALID_ARGUMENT: "what was VALUE: LOW..HIGH is allowed".
Status checked_range(const char* what, std::int64_t value, std::int64_t low, std::int64_t high);

// A wait in milliseconds, -1 for ever.
Result<Micros> checked_wait(const char* what, std::int64_t wait_ms);

// A lease in milliseconds.
Status checked_lease(std::int64_t lease_ms);

}  // namespace belay
