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

// What an epoch asks for, and what the server has said so far.
struct Asking {
  bool begun = false;
  bool out = false;
  // When to ask again; whether nobody else may then; and when at the latest, whatever messages say.
  Micros again_at = kNever;
  bool told_to_look = false;
  Micros poll_at = kNever;
  // Server time of the latest answer that it has to wait.
  ServerTime answered_at;
  // That of the latest grant by a message that was not believed, and when the connection began.
  // Nothing as old is, however fresh it looks: somebody may send it again, also when the server's
  // clock has stepped back, or when the grant was missed and is broken by now.
  ServerTime doubted_at;
  // An ask was cut off, or its grant came too late: the server may hold it for us.
  bool maybe_on_server = false;
  // When a grant by an ask that was never answered has lapsed.
  Micros expires_by = 0;
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
  std::int64_t epoch;
  std::int64_t fence;
  std::int64_t last_fence;
  std::int64_t permits;
  Micros deadline;
  Micros lease;
  bool confirmed;
  bool others_wait;
  ServerTime since = {};
};

// What an epoch holds.
struct Held {
  std::int64_t permits = 0;
  // Of the grant, for the next local handoff, and the last that is reserved; how many were reserved
  // the last time.
  std::int64_t fence = 0;
  std::int64_t next_fence = 0;
  std::int64_t last_fence = 0;
  std::int64_t reserve = 0;
  // Only a message vouches for it, and somebody who waits wants a reply: nobody has it yet.
  bool awaits_reply = false;
  // A reply vouches for it, not only a message; until when it is certainly ours, and by which
  // lease.
  bool confirmed = false;
  Micros deadline = 0;
  Micros lease = 0;
  // When the server's record has certainly lapsed.
  Micros lapses_at = 0;
  // When to renew; and at the latest, whatever the lease, to watch the record.
  Micros renew_at = kNever;
  Micros look_at = kNever;
  bool renew_out = false;
  // A batch failed: whose fault it was shows only one by one.
  bool renew_alone = false;
  // Somebody else has to do with it, as the server says: by the verb for that.
  bool renew_in_full = false;
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

  // Whether other clients wait, since when, and when the server last said so or not.
  bool others_wait = false;
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

// An epoch that is over and that the server may still know: asked to leave until it has answered.
struct Leaving {
  std::int64_t epoch = 0;
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
  // The latest fence of its range that it has given; 0: a server that has lost data may not know of
  // a later one.
  std::int64_t given = 0;
  // How often it was left, but for what certainly did nothing.
  int sent = 0;
  // A later epoch was asked for: that has freed this one.
  bool overtaken = false;
  // Somebody was told that it is lost. Then what is asked for after that waits until the server has
  // heard of it; not so what stands already when a message tells of a loss, as anybody may have
  // sent any number of those.
  bool lost = false;
  bool goes_first = false;
  // As far as is known, nobody else has to do with it.
  bool uncontended = false;
  // Of one of several, for that.
  bool joint = false;
  std::int64_t fence = 0;
  Seat seat;
  // Nobody had it: whoever asked for it has given up.
  bool in_vain = false;
  // Only a message has told of it: asked once.
  bool stray = false;
  // When to look all the same: as it was told, or was about to.
  Micros look_at = kNever;
  // It handed the lock on, and asks again in case that grant lapses unused; or, as the client ends,
  // others have been told to.
  bool looks_after = false;
  bool parting = false;
};

}  // namespace belay
