// What a claim's epoch goes through: asking, held, leaving. Data of a claim, which says what it
// means; used inside the client's monitor.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "base/clock.h"
#include "base/contract.h"
#include "engine/answers.h"
#include "engine/pending_ref.h"

namespace belay {

// How long a queue stands without polls.
inline constexpr Micros kQueueStands = contract::kQueueMs * kMillisecond;

// What the server may have by what was asked for.
struct Traces {
  bool begun = false;
  // An ask that waits was sent since the latest grant: it may have a place in the server's queue.
  bool may_be_queued = false;
  // When a grant by an ask that was never answered has lapsed.
  Micros expires_by = 0;
};

// What an epoch asks for, and what the server has said so far.
struct Asking : Traces {
  // Before the ask that is out: so it is again if that does nothing.
  Traces before;
  bool out = false;
  // When to ask again; whether nobody else may then; and when at the latest, whatever messages say.
  Micros again_at = kNever;
  bool told_to_look = false;
  Micros poll_at = kNever;
  // Server time of the latest answer that it has to wait.
  ServerTime answered_at;
  // That of the latest grant by a message that was not believed; and when the connection began, the
  // data were wiped or the name was broken. Nothing as old is believed, however fresh it looks:
  // somebody may send it again, also when the server's clock has stepped back.
  ServerTime doubted_at;
  // An ask was cut off, or its grant came too late: the server may hold it for us.
  bool maybe_on_server = false;
  // When others have lost the name at the latest, by the latest answer; 0: not known.
  Micros free_by = 0;
  // Of asks whose reply was lost in a cut: the latest not-after, in server time, and expires_by.
  ServerTime suspect_until;
  Micros cut_until = 0;
  std::int64_t ticket = 0;
  // The latest submission that the latest ask was for, and the latest that waits for what its
  // answer was about. An answer about a latch is not for those who come later.
  std::uint64_t asked_to = kWhoever;
  std::uint64_t known_to = kWhoever;
  // Of a latch: which generation that is; 0 while it is not known.
  std::int64_t generation = 0;

  static constexpr std::uint64_t kWhoever = std::numeric_limits<std::uint64_t>::max();
};

// What a reply or a message grants.
struct Grant {
  std::int64_t epoch = 0;
  std::int64_t fence = 0;
  std::int64_t last_fence = 0;  // of the range that is reserved for local handoffs
  std::int64_t permits = 0;
  Micros deadline = 0;     // until then it is certainly ours
  Micros lease = 0;        // by which that is so
  bool confirmed = false;  // a reply vouches for it, not only a message
  bool others_wait = false;
  ServerTime since = {};
};

// What an epoch holds: what was granted, as later answers have it, and what has come of it.
struct Held : Grant {
  std::int64_t next_fence = 0;  // for the next local handoff
  std::int64_t reserve = 0;     // how many fences were reserved the last time
  // Only a message vouches for it, and somebody who waits wants a reply: nobody has it yet.
  bool awaits_reply = false;
  // When the server's record has certainly lapsed.
  Micros lapses_at = 0;
  // When to renew; and at the latest, whatever the lease, to watch the record.
  Micros renew_at = kNever;
  Micros look_at = kNever;
  bool renew_out = false;
  // A batch failed: whose fault it was shows only one by one.
  bool renew_alone = false;
  // Somebody else has to do with it, as the server says, or the server is another: by the verb for
  // that, and for as long as it is believed to be ours.
  bool renew_in_full = false;
  // Its slot is on its way to another server: nothing of several keys passes.
  bool slot_moves = false;
  // Of one of several: what the server was told of it in full, when, and until when the name stands
  // by that.
  Seat seat;
  Micros told_at = 0;
  Micros stands_until = 0;
  // When the latest renewal was sent, and when what it asked for has lapsed, however late it comes.
  Micros renewed_at = 0;
  Micros renewed_until = 0;

  // When the server's record has certainly lapsed, also if a renewal that is on its way takes
  // place.
  [[nodiscard]] Micros lapses_by() const {
    return renew_out ? std::max(lapses_at, renewed_until) : lapses_at;
  }

  // Since when other clients wait, and when the server last said whether any does.
  Micros others_since = 0;
  Micros heard_at = 0;
  // From one local owner to the next, since others wait.
  int handoffs = 0;
  // It may be ours no more, as a message or a new connection says: nobody is given it before the
  // server has answered.
  bool in_question = false;
  // When the server may be asked the next time because of that.
  Micros next_question = 0;
  // Who broke it, as a message says, until the server has been asked.
  std::string broken_by;
  // Until when nobody else is to get it, as a hold of this epoch was lost.
  Micros delay_until = 0;
  // The group that whoever holds it is content to share it with by now.
  std::string share_with;
  // How many commands may have told the server: those that were sent, but for what certainly did
  // nothing.
  int shares_sent = 0;
  // The server has refused that.
  bool stays_alone = false;
  // When it may be shared with those who hold it, where the one who was alone was lost.
  Micros share_at = kNever;
  // A hold of this epoch that was alone was lost: whoever shares it after that has a newer fence.
  bool lost_alone = false;
};

// An epoch that is over and that the server may still know: asked to leave, in these words, until
// it has answered.
struct Leaving : LeaveArgs {
  bool in_flight = false;
  bool answered = false;
  // When to ask, if not in flight.
  Micros again_at = kNever;
  // Server time until which a lost acquire of it may still arrive (rule 15).
  ServerTime sweep_until;
  // When its record has lapsed whatever happens; and of that, what a lost acquire of it may get.
  Micros expires_by = 0;
  Micros cut_until = 0;
  // The release that waits for the answer.
  PendingRef release;
  // Local time until which the server had vouched for it.
  Micros ours_until = 0;
  // Who broke it, as a message says.
  std::string broken_by;
  // How often it was left, but for what certainly did nothing.
  int sent = 0;
  // A later epoch was asked for: that has freed this one.
  bool overtaken = false;
  // It was lost, and what was asked for after that waits until the server has heard of it; not so
  // what stands already when a message tells of a loss, as anybody may have sent any number of
  // those.
  bool goes_first = false;
  // Nobody had it: whoever asked for it has given up.
  bool in_vain = false;
  // Nothing but the ask that was out can have brought it there.
  bool only_asked = false;
  // Only a message has told of it: asked once.
  bool stray = false;
  // When to look all the same: as it was told, or was about to.
  Micros look_at = kNever;
  // It handed the lock on, and asks again in case that grant lapses unused.
  bool looks_after = false;
};

}  // namespace belay
