// What callers ask for, and what was accepted of it and has not completed. Data: the parts of the
// engine move it along, inside the client's monitor; the ledger owns it.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "engine/event.h"
#include "engine/hold.h"
#include "engine/pending_ref.h"
#include "engine/primitive.h"
#include "engine/query.h"
#include "engine/timer_heap.h"

namespace belay {

struct Claim;

struct AcquireRequest : AcquireTerms {
  std::string name;
  Want want;
  // Several names, all or none; `name` and `want` say nothing then.
  std::vector<std::pair<std::string, Want>> names;
};

// By the event that completes it; a query knows its own.
enum class PendingKind : std::uint8_t {
  kQuery = 0,
  kAcquire = BELAY_EVENT_ACQUIRED,
  kRelease = BELAY_EVENT_RELEASED,
  kExtend = BELAY_EVENT_EXTENDED,
  kVerify = BELAY_EVENT_VERIFIED,
  kDowngrade = BELAY_EVENT_DOWNGRADED
};

// An accepted submission that has not completed. The terms are an acquire's; an extension has a
// lease.
struct Pending : AcquireTerms {
  std::int64_t tag = 0;
  std::uint64_t order = 0;     // of its submission
  Micros since = 0;            // the time of it
  Micros held_since = kNever;  // of a release: of a hold that was not known to be lost
  PendingKind kind = PendingKind::kAcquire;
  Timer timer;
  Micros reach_by = kNever;
  Claim* claim = nullptr;
  std::int64_t hold = 0;

  // Acquires.
  std::list<Pending*>::iterator place;  // in the claim's waiting, if `waits`
  bool waits = false;
  bool reached = false;  // the server, or a claim of ours that stands, has answered for it
  bool is_try = false;
  bool together = false;  // asks for it together with the others of its bundle
  Micros wait_until = kNever;
  Want want;
  std::string name;  // of a generation that is asked about before the wait

  // What is about several names leads a part for each; parts have tags of their own, below zero.
  std::int64_t bundle = 0;          // of the lead and of its parts
  PendingRef lead;                  // of a part
  std::vector<std::int64_t> parts;  // of a lead other than an acquire's: that have not completed

  [[nodiscard]] PendingRef ref() const { return {tag, order}; }

  [[nodiscard]] bool is_lead() const { return bundle != 0 && !lead.any(); }

  // Whether it asks the server without changing a claim's course.
  [[nodiscard]] bool is_operation() const {
    return query != nullptr ||
           (!is_lead() && (kind == PendingKind::kExtend || kind == PendingKind::kVerify));
  }

  // Whether it changes something on the server, and may have done so already: no cancel takes that
  // back. Acquires and releases are their claim's matter.
  [[nodiscard]] bool may_have_effect() const {
    return unanswered > 0 && (kind == PendingKind::kQuery ? query->effect() != Query::Effect::kNone
                                                          : kind == PendingKind::kExtend ||
                                                                kind == PendingKind::kDowngrade);
  }

  // Extensions, verifications, downgrades and queries.
  int unanswered = 0;  // how often it was sent without a reply: it may have taken place
  bool answered_in_part = false;
  bool knows_servers = false;   // the query has been told of them
  bool begins_sharing = false;  // its hold was exclusive until then
  bool shares = false;          // `command` names the group to share the claim with
  std::uint64_t command = 0;    // that is to answer it; 0: none is out
  Micros may_arrive_until = 0;  // local time; of a query: beyond it, it changes nothing any more
  Status trouble;               // the latest passing error of the server
  // Null unless it is one, or an acquire that asks about its generation; that has no claim yet.
  std::unique_ptr<Query> query;
  Event event;  // what the query, or a lead, has gathered
};

}  // namespace belay
