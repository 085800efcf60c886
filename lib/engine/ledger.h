// What the engine knows: claims by key and by epoch, holds, submissions and bundles by id, their
// timers, the highest fences seen, what is counted; and the numbers that these are given. Without
// policy: the parts of the engine decide what becomes of an entry. The engine owns it; used inside
// the client's monitor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "engine/bundle.h"
#include "engine/claim.h"
#include "engine/message.h"
#include "engine/metrics.h"
#include "engine/pending.h"
#include "engine/primitive.h"
#include "engine/timer_heap.h"
#include "route/router.h"

namespace belay {

struct Ledger {
  Ledger(const Config& options, Router& servers, const Micros& entry_time,
         std::atomic<std::int64_t>& latest_hold)
      : config(options), router(servers), now(entry_time), last_hold(latest_hold) {}

  // ---- Claims

  // None where the name is not known, or each acquire of it is a claim of its own.
  [[nodiscard]] Claim* find_claim(Kind kind, std::string_view name) const;
  // The claim that owners of the name share.
  Claim& claim_of(const Primitive& primitive, std::string_view name);
  // The claim for an acquire of the name, which may be one beside others of the name.
  Claim& claim_for_acquire(const Primitive& primitive, std::string_view name);
  // The claim that a message is about, if its epoch is not over.
  [[nodiscard]] Claim* standing_claim(const Message& message) const;
  // The claim whose epoch a message is about, or that of its name.
  [[nodiscard]] Claim* claim_of_past(const Message& message) const;

  // ---- Submissions and holds

  // A blocking call has a tag beyond those of submissions, a part of one below.
  [[nodiscard]] static bool is_submission(std::int64_t tag) { return tag >= 1 && tag <= kMaxId; }

  Pending& add_pending(std::int64_t tag, PendingKind kind);
  [[nodiscard]] Pending* pending(std::int64_t tag) const;
  // None if that one has ended, also where its tag is in use again.
  [[nodiscard]] Pending* pending(const PendingRef& ref) const;
  // The server that it asks.
  [[nodiscard]] std::uint16_t slot_of(const Pending& pending) const;

  [[nodiscard]] Node& node_for(const Pending& pending) const {
    return router.node_of(slot_of(pending));
  }

  [[nodiscard]] Hold* hold(std::int64_t id) const;
  // The hold that a caller means by `id`: a part of a bundle is none.
  [[nodiscard]] Hold* known_hold(std::int64_t id) const;
  // Whether its owner has been told of it: not while other names of its bundle are waited for.
  [[nodiscard]] bool told_of(const Hold& hold) const;
  // None where there is none of that id.
  std::unique_ptr<Hold> take_hold(std::int64_t id);
  // How many holds callers have: several names are held by one.
  [[nodiscard]] std::size_t held() const;

  [[nodiscard]] Bundle* bundle(std::int64_t id) const;
  // The bundle that a caller holds by `id`.
  [[nodiscard]] Bundle* held_bundle(std::int64_t id) const;
  // Its next step is taken when the engine's entry ends.
  void want_step(Bundle& bundle);

  // ---- What has ended

  // Takes it from the tables, a submission from its claim's line and from its hold, too. It is
  // freed when the engine's entry ends: no function frees what its caller still has in its hands.
  void retire(Claim& claim);
  void retire(Pending& pending);
  void retire(Bundle& bundle);
  void retire_abandoned(Hold& hold);

  void free_retired() { retired_.clear(); }

  // Whether it has not been retired. By its address: it may be another of that name or tag.
  [[nodiscard]] bool stands(const Claim& claim) const;
  [[nodiscard]] bool stands(const Pending& pending) const;

  // ---- Fences: each slot counts its own

  [[nodiscard]] std::int64_t highest_fence_of(std::uint16_t slot) const;
  // By a reply: a message may be anybody's, and what it says would be sent on to the server.
  void saw_fence(std::uint16_t slot, std::int64_t fence);

  const Config& config;
  Router& router;
  // The time of the entry to the engine that runs: all that happens in it happens then.
  const Micros& now;
  TimerHeap timers;
  std::unordered_map<std::string, std::unique_ptr<Claim>> claims;
  // Not of idle ones, but where each acquire is a claim of its own: no name leads to those.
  std::unordered_map<std::int64_t, Claim*> epochs;
  std::unordered_map<std::int64_t, std::unique_ptr<Hold>> holds;
  std::unordered_map<std::int64_t, std::unique_ptr<Hold>> abandoned;
  std::unordered_map<std::int64_t, std::unique_ptr<Pending>> pendings;
  std::unordered_map<std::int64_t, std::unique_ptr<Bundle>> bundles;  // by their hold's id
  std::deque<Claim*> checks_due;          // the server is to be asked about them anew
  std::vector<Claim*> held_back;          // until their node has a clock, and is not behind
  std::vector<std::int64_t> bundles_due;  // their next step is
  std::vector<PendingRef> leads_due;      // all of whose parts have completed
  std::unordered_map<std::uint16_t, std::int64_t> highest_fences;  // by slot
  std::size_t submissions = 0;  // of pendings: neither blocking calls nor parts
  std::size_t parts_pending = 0;
  std::atomic<std::int64_t>& last_hold;
  std::int64_t last_epoch = 0;
  std::int64_t last_claim = 0;
  std::int64_t last_part = 0;
  std::uint64_t last_order = 0;
  Metrics metrics;

 private:
  [[nodiscard]] Claim* claim_of_epoch(const Message& message) const;
  Claim& add_claim(const Primitive& primitive, std::string_view name, std::string key);

  using Retired = std::variant<std::unique_ptr<Claim>, std::unique_ptr<Pending>,
                               std::unique_ptr<Bundle>, std::unique_ptr<Hold>>;
  std::vector<Retired> retired_;
};

}  // namespace belay
