// Locks and semaphores on the server: their keys, scripts, arguments and replies, as
// lib/scripts/README.md has them. Stateless but for who this client is; usable from any thread.
#pragma once

#include <initializer_list>
#include <string>

#include "base/packing.h"
#include "engine/primitive.h"
#include "route/inbox.h"

namespace belay {

// Who this client is to the server and to other clients.
struct Identity {
  std::string client;       // 22 characters
  std::string prefix;       // of keys and channels
  std::string info;         // "pid host label"
  std::string secret = {};  // known to nobody else; never sent
  bool in_cluster = false;

  [[nodiscard]] Inbox inbox() const { return {prefix + "in:", client, in_cluster}; }
};

// The groups of those who share a lock.
inline const std::string kReaders = "r";
inline constexpr char kIdentityGroup = 'i';  // then the identity

// What leave is told of a name, after the kind of all, and what it says of one.
std::string packed_leave(const Identity& me, const LeaveArgs& args);
std::optional<LeaveAnswer> read_left(Unpacker& fields);

// A member's seat, without the info text.
std::string packed_seat(const Identity& me, std::int64_t epoch, std::int64_t fence,
                        const Seat& seat);

// Where a name of any kind lives, and which of its keys is which.
inline constexpr char kRecord = 'r';
inline constexpr std::size_t kRecordKey = 0;
inline constexpr std::size_t kFenceKey = 1;
inline constexpr std::size_t kQueueKey = 2;
inline constexpr std::size_t kMembersKey = 3;
inline constexpr std::size_t kKeysOfName = 4;  // in a cluster the slot's absent key comes behind
Resource resource_of(const Identity& me, std::string_view name);

// As a command has them, which does not own its keys: all of a name, or some; in a cluster with
// the absent key.
std::vector<std::string_view> views(const std::vector<std::string>& keys);
std::vector<std::string_view> views(const Resource& resource,
                                    std::initializer_list<std::size_t> which);
// Adds all of a further name in the same slot. The absent key stays the last.
void add_views(const Resource& resource, std::vector<std::string_view>* keys);

// Fences are ids: a number beyond them is none that a script gave out.
bool is_fence_range(std::int64_t fence, std::int64_t last);

class LockOrSemaphore final : public Primitive {
 public:
  LockOrSemaphore(Kind kind, Identity identity) : kind_(kind), me_(std::move(identity)) {}

  [[nodiscard]] Kind kind() const override { return kind_; }

  [[nodiscard]] bool claim_per_request() const override { return kind_ == Kind::kSemaphore; }

  [[nodiscard]] bool waits_only() const override { return false; }

  [[nodiscard]] Status busy(std::string_view name) const override;
  [[nodiscard]] Status missing(std::string_view name) const override;

  [[nodiscard]] Resource resource(std::string_view name) const override {
    return resource_of(me_, name);
  }

  [[nodiscard]] Command acquire(const Resource& resource, const AcquireArgs& args) const override;
  [[nodiscard]] Command leave(const Resource& resource, const LeaveArgs& args) const override;
  // Of a semaphore. 0: only asks for it.
  [[nodiscard]] Command limit(const Resource& resource, std::int64_t limit,
                              std::int64_t highest_fence, ServerTime not_after) const;
  [[nodiscard]] std::optional<AcquireAnswer> read_acquire(Reply reply) const override;
  [[nodiscard]] std::optional<LeaveAnswer> read_leave(Reply reply) const override;

 private:
  const Kind kind_;
  const Identity me_;
};

}  // namespace belay
