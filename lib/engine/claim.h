// What the engine remembers of one name, of a submission, of a hold. Data without behaviour:
// engine/*.cpp move it along, inside the client's monitor. The engine owns all of it.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "engine/event.h"
#include "engine/many.h"
#include "engine/primitive.h"
#include "engine/query.h"
#include "engine/timer_heap.h"
#include "route/node.h"

namespace belay {

struct Claim;

// A granted acquire, until its release.
struct Hold {
  std::int64_t id = 0;
  Claim* claim = nullptr;  // null once it is lost
  Status loss;             // why, once it is
  std::int64_t owner = 0;
  std::string group;  // that it is content to share its name with
  std::int64_t fence = 0;
  Micros lease = 0;  // fixed; 0: the watchdog's
  Micros ends_at =
      kNever;  // of a fixed lease, or after max-hold; whatever the claim's deadline says beyond
  Micros max_at = kNever;  // when the watchdog stops
  Micros max_hold = 0;
  bool notify = false;  // queue events about it
  bool at_risk = false;
  bool abandoned = false;           // nobody knows its id any more
  Micros since = 0;                 // when it was granted
  std::int64_t set = 0;             // of which it is a part: the id that its holder knows; 0: none
  std::vector<std::int64_t> asked;  // tags of submissions about it

  [[nodiscard]] bool watched() const { return lease == 0 && ends_at == kNever; }

  [[nodiscard]] std::int64_t known_as() const { return set != 0 ? set : id; }
};

// A dead epoch that the server may still know. Asked to leave until it has answered.
struct Leaving {
  std::int64_t epoch = 0;
  Micros again_at = kNever;  // when to ask, if not in flight
  Micros sweep_until =
      0;  // server time until which a lost acquire of it may still arrive (rule 15)
  Micros matters_until = 0;  // local time at which its record has lapsed whatever happens
  Micros cut_until = 0;      // of that, what a lost acquire of it may get
  std::int64_t tag = 0;      // of the release that waits for the answer
  bool in_flight = false;
  bool lost = false;   // somebody was told that it is lost
  bool plain = false;  // as far as is known, nobody else has to do with it
  bool answered = false;
  Micros look_at = kNever;   // when to look all the same: as it was told, or was about to
  bool stray = false;        // only a message has told of it: asked once
  bool looks_after = false;  // it handed the lock on: asks again in case that grant lapses unused
  bool parting = false;      // as the client ends, others have been told to
};

enum class ClaimState : std::uint8_t { kIdle, kAsking, kHeld };

struct Claim {
  const Primitive* primitive = nullptr;
  std::string key;  // in the engine's table
  Resource resource;
  Node* node = nullptr;
  Timer timer;
  std::list<Pending*> waiting;
  std::vector<Hold*> holds;
  std::vector<Leaving> leaving;
  int in_flight = 0;       // commands that refer to it
  bool check_due = false;  // the server is to be asked about it anew, in its turn

  ClaimState state = ClaimState::kIdle;
  std::int64_t epoch = 0;
  Want want;  // what the epoch asks for, or has

  // While asking.
  bool ask_out = false;
  bool ask_due = false;  // with the other names of its set
  bool may_stand =
      false;  // an ask was cut off, or its grant came too late: the server may hold it for us
  Micros ask_at = kNever;     // when to ask again
  bool told_to_look = false;  // at ask_at: nobody else may
  Micros poll_at = kNever;    // when to at the latest, whatever messages say
  Micros answered_at = 0;     // server time of the latest answer that it has to wait
  Micros not_after = 0;       // server time, of the latest ask
  Micros matters_until =
      0;  // local time at which a grant by an ask that was never answered has lapsed
  Micros suspect_until = 0;  // server time, as not_after, of an ask whose reply was lost in a cut
  Micros cut_until = 0;      // local time, as matters_until, of such asks
  std::int64_t ticket = 0;
  std::int64_t generation = 0;  // that is waited for, of what lets pass; 0: not known yet
  std::uint64_t asked_to = 0;   // the latest submission that the latest ask was for
  std::uint64_t known_to = 0;   // the latest one that waits for the generation
  Status refusal;               // the latest passing error of the server

  // While held.
  std::int64_t permits = 0;
  std::int64_t fence = 0;       // of the grant
  std::int64_t next_fence = 0;  // for the next local handoff
  std::int64_t last_fence = 0;  // of the reserved range
  std::int64_t reserve = 0;     // how many were reserved the last time
  Micros deadline = 0;          // until when it is certainly ours
  Micros vouched = 0;           // the lease behind that deadline
  Micros lapses_at = 0;         // when the server's record has certainly lapsed
  Micros renew_at = kNever;
  Micros look_at = kNever;   // when to renew at the latest, whatever the lease, to watch the record
  Micros renewed_at = 0;     // when the latest renewal was sent
  Micros renewed_until = 0;  // when what it asked for has lapsed, however late it arrives
  Micros heard_at = 0;       // when the server last said whether other clients wait
  Micros others_since = 0;
  int handoffs = 0;
  bool confirmed = false;  // a reply, not only a message, vouches for it
  bool renew_out = false;
  bool renew_due = false;
  bool renew_alone = false;  // a batch failed: whose fault it was shows only one by one
  bool others_wait = false;  // clients, not local owners
  std::string broken_by;     // as a message says, until the server has been asked
  Micros delay_until = 0;  // until when nobody else is to get it, as a hold of this epoch was lost
  std::string share_with;  // the group that whoever holds it is content to share it with by now

  // Whether owners may have it beside each other, as others' clients may.
  [[nodiscard]] bool shared() const { return want.shared(); }
};

enum class PendingKind : std::uint8_t { kAcquire, kRelease, kExtend, kVerify, kDowngrade, kQuery };

// An accepted submission that has not completed.
struct Pending {
  std::int64_t tag = 0;
  std::uint64_t order = 0;  // of its submission
  Micros since = 0;         // the time of it
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
  Micros wait_until = kNever;
  std::int64_t owner = 0;
  Want want;
  Micros lease = 0;  // also of an extension
  Micros max_hold = 0;
  bool notify = false;
  const ManyNames* many = nullptr;       // asks for it together with the others of its set
  const Primitive* primitive = nullptr;  // of a generation that is asked about before the wait
  std::string name;                      // likewise

  // What is about several names leads a part for each; parts have tags of their own, below zero.
  std::int64_t set = 0;   // of the lead and of its parts
  std::int64_t lead = 0;  // of a part: the tag of its lead
  std::size_t parts = 0;  // of a lead: how many have not completed

  [[nodiscard]] bool is_lead() const { return set != 0 && lead == 0; }

  // Extensions, verifications and queries.
  int unanswered = 0;           // how often it was sent without a reply: it may have taken place
  std::uint64_t command = 0;    // that is to answer it; 0: none is out
  Micros may_arrive_until = 0;  // local time; of a query: beyond it, it changes nothing any more
  Status trouble;               // the latest passing error of the server
  bool answered_in_part = false;
  // Null unless it is one, or an acquire that asks about its generation; that has no claim yet.
  std::unique_ptr<Query> query;
  Event event;  // what the query, or a lead, has gathered
};

}  // namespace belay
