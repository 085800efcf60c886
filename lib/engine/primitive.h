// What the engine asks of a primitive: how a claim on it is made and given up on the server; and of
// what all names have in common: how holds are kept, messages read, names looked at. Pure
// functions: no state but the client's identity. Implemented in lib/primitive, registered by the
// client.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "engine/event.h"
#include "engine/query.h"
#include "net/resp.h"
#include "route/command.h"

namespace belay {

// A name and where it lives on the server.
struct Resource {
  std::string name;
  std::uint16_t slot = 0;
  std::vector<std::string> keys;
};

// The kinds of what a name can be; a record's second byte.
enum class Kind : std::uint8_t { kLock = 1, kSemaphore = 2, kLatch = 3 };

// What is asked of a name. Owners of one client who want the same may share a claim, where there is
// a group to share it with.
struct Want {
  std::string group;            // who share it; empty: alone
  std::int64_t permits = 1;     // of a semaphore; 0: all that are free
  std::int64_t limit = 0;       // of a semaphore; 0: as it is set
  std::int64_t generation = 0;  // of a latch, to wait for; 0: the current one
  Micros lock_delay = 0;        // after a loss

  // Whether who wants this may have what was granted to `other`, beside its holder or after it.
  [[nodiscard]] bool suits(const Want& other) const {
    return group == other.group && permits == other.permits && limit == other.limit &&
           lock_delay <= other.lock_delay;
  }

  // Whether several may have it beside each other.
  [[nodiscard]] bool shared() const { return !group.empty(); }
};

struct AcquireArgs {
  Want want;
  std::int64_t epoch = 0;
  Micros lease = 0;
  Micros not_after = 0;  // server time
  Micros grant_lease = 0;
  std::int64_t ticket = 0;
  std::int64_t highest_fence = 0;
  std::int64_t generation = 0;  // that a waiter is to be let pass by; 0: the current one
  bool queue = false;
  bool first = false;  // nothing was asked for under this epoch before
  std::size_t local_waiters = 0;
};

// What a grant lease allows for the ageing of the clock's bound: 0.5 % between a waiter's polls.
inline constexpr Micros kAgeing = 40 * kMillisecond;

// The longest grant lease of a client with such a request timeout; and of anybody.
constexpr Micros max_grant(Micros request_timeout) {
  return 2 * request_timeout + kAgeing;
}

inline constexpr Micros kMaxGrant = max_grant(kMaxRequestTimeout);
// The longest that a handoff keeps a name: its grant lease, and the lock-delay of who has it.
inline constexpr Micros kMaxHanded = kMaxGrant + kMaxLockDelay;

enum class AcquireCode : std::uint8_t {
  kGranted = 1,
  kQueued = 2,
  kBusy = 3,
  kLate = 4,
  kStale = 5,
  kMore = 6,
  kPassed = 7,   // there is nothing to hold: whoever waited may go on
  kMissing = 8,  // nobody has made what is asked for
  kLimit = 9     // the semaphore has another limit
};

struct AcquireAnswer {
  AcquireCode code = AcquireCode::kBusy;
  Micros server_time = 0;
  std::int64_t fence = 0;
  std::int64_t last_fence = 0;  // of the range reserved for local handoffs
  bool others_wait = false;
  std::int64_t permits = 0;
  std::int64_t position = 0;
  Micros remaining = 0;  // of the holder's lease
  std::int64_t ticket = 0;
  std::int64_t highest_fence = 0;
  Micros handed = 0;  // of its grant lease, of a handoff that is this claim's to look after
  std::int64_t limit = 0;
  std::int64_t generation = 0;  // of a latch, as its count
  std::int64_t count = 0;
};

struct LeaveArgs {
  std::int64_t epoch = 0;
  std::int64_t highest_fence = 0;
  bool lost = false;     // somebody was told that it is lost
  bool plain = false;    // as far as is known, held alone with nobody waiting: less will do
  bool parting = false;  // the client ends: others look after what it hands on, and has handed on
};

enum class LeaveCode : std::uint8_t {
  kOk = 1,
  kNotOurs = 2,
  kMore = 3,
  kNotPlain = 5  // nothing was done
};

struct LeaveAnswer {
  LeaveCode code = LeaveCode::kNotOurs;
  Micros server_time = 0;
  Micros handed = 0;  // grant lease of a handoff that the call has made
};

struct RenewArgs {
  Kind kind = Kind::kLock;
  std::int64_t epoch = 0;
  Micros lease = 0;  // 0: only look
  std::int64_t fence = 0;
  std::int64_t reserve = 0;  // how many more fences
  std::size_t holds = 0;
  std::size_t local_waiters = 0;
  std::string group;                // to share it with from now on; empty: as it is
  std::int64_t fence_of_group = 0;  // under which
};

enum class RenewCode : std::uint8_t { kOk = 1, kNotOurs = 2, kUnreadable = 3 };

struct RenewAnswer {
  RenewCode code = RenewCode::kNotOurs;
  std::int64_t last_fence = 0;
  bool others_wait = false;
};

struct RenewAnswers {
  Micros server_time = 0;
  std::vector<RenewAnswer> claims;
};

enum class MessageKind : std::uint8_t {
  kGrant = 1,
  kNext = 2,
  kWaits = 3,
  kBroken = 4,
  kSettled = 5,
  kPassed = 6
};

// What came to our inbox.
struct Message {
  MessageKind kind = MessageKind::kNext;
  Kind of = Kind::kLock;
  std::int64_t epoch = 0;
  Micros server_time = 0;
  std::int64_t fence = 0;
  std::int64_t last_fence = 0;
  Micros grant_lease = 0;
  bool others_wait = false;
  Micros look_in = 0;
  std::int64_t generation = 0;  // that has ended
  bool opened = false;          // or it is gone
  std::string by;               // who broke it
  std::string name;
};

struct Inspection {
  Micros server_time = 0;
  std::vector<Member> members;
  std::int64_t total = 0;
  std::int64_t generation = 0;  // of a latch, as its count
  std::int64_t count = 0;
  std::int32_t primitive = 0;  // belay_primitive; 0: not in use
  std::int64_t limit = 0;      // of a semaphore
  std::int64_t used = 0;       // of its permits
  bool again = false;          // the script has more to do
  bool serve_only = false;     // that needs nobody to be parted from it
};

class Primitive {
 public:
  Primitive() = default;
  virtual ~Primitive() = default;
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;

  [[nodiscard]] virtual Kind kind() const = 0;
  // Whether each acquire is a claim of its own; else those of one name share one.
  [[nodiscard]] virtual bool claims_apart() const = 0;
  // Whether nobody holds it: those who share a claim wait for the same and go on together; else
  // they have it in turn.
  [[nodiscard]] virtual bool lets_pass() const = 0;
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

// What is the same for names of all kinds.
class Names {
 public:
  Names() = default;
  virtual ~Names() = default;
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  [[nodiscard]] virtual Resource resource(std::string_view name) const = 0;
  // A renewal of no claim yet, and one claim more in it.
  [[nodiscard]] virtual Command renew(std::int64_t highest_fence, Micros not_after) const = 0;
  virtual void add_renewal(const Resource& resource, const RenewArgs& args,
                           Command* command) const = 0;
  [[nodiscard]] virtual Command inspect(const Resource& resource) const = 0;
  [[nodiscard]] virtual Command force(const Resource& resource, std::int64_t fence,
                                      std::int64_t highest_fence, Micros not_after) const = 0;

  // Answers; none where a reply is not what the script gives.
  [[nodiscard]] virtual std::optional<RenewAnswers> read_renew(Reply reply) const = 0;
  [[nodiscard]] virtual std::optional<Inspection> read_inspect(Reply reply) const = 0;
  [[nodiscard]] virtual std::optional<Inspection> read_force(Reply reply) const = 0;
  // The server's time, where any script says that it came after its not-after and did nothing.
  [[nodiscard]] virtual std::optional<Micros> read_late(Reply reply) const = 0;
  [[nodiscard]] virtual std::optional<Message> read_message(std::string_view payload) const = 0;

  // SCAN's pattern for all names in use, and the name behind a key that it found.
  [[nodiscard]] virtual std::string scan_pattern() const = 0;
  [[nodiscard]] virtual std::optional<std::string> name_of_key(std::string_view key) const = 0;
};

}  // namespace belay
