// A claim's course alone: what it asks for, and the server's answers, given as what they say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "unit/parts.h"

namespace belay {

class CourseAlone : public EngineParts {
 protected:
  static AcquireRequest for_owner(std::int64_t owner, const std::string& group = "") {
    AcquireRequest request;
    request.name = "a";
    request.owner = owner;
    request.want.group = group;
    request.notify = true;
    return request;
  }

  void acquire(std::int64_t tag, AcquireRequest request = for_owner(0), Micros wait = kNever) {
    request.primitive = &lock_;
    course_.place(course_.add_acquire(tag, request, wait));
  }

  // How many scripts were called since the last time.
  std::size_t calls() { return sent("EVAL").size(); }

  [[nodiscard]] Claim& claim() const { return *ledger_.find_claim(Kind::kLock, "a"); }

  // An acquire that is granted at once; its hold.
  Hold& got(std::int64_t tag, const AcquireRequest& request = for_owner(0)) {
    acquire(tag, request);
    reply(granted(50));
    calls();
    return *ledger_.hold(events_.events.back().hold);
  }

  // Ends a hold as its release does; that of the submission `tag`.
  void drop(std::int64_t hold, std::int64_t tag) {
    const std::unique_ptr<Hold> taken = ledger_.take_hold(hold);
    course_.drop_hold(*taken, &ledger_.add_pending(tag, PendingKind::kRelease));
  }

  [[nodiscard]] AcquireAnswer queued(Micros remaining, std::int64_t position = 0) const {
    AcquireAnswer answer = told(AcquireCode::kQueued);
    answer.ticket = 7;
    answer.position = position;
    answer.look_in = position == 0 ? remaining : kNever;
    return answer;
  }

  [[nodiscard]] Message message(MessageKind kind) const {
    Message message;
    message.kind = kind;
    message.epoch = ledger_.last_epoch;
    message.server_time = server_time();
    message.fence = 60;
    message.last_fence = 68;
    message.grant_lease = 300 * kMillisecond;
    message.name = "a";
    return message;
  }

  void hear(const Message& message) {
    course_.on_message(claim(), node_, message);
    course_.reconcile(claim());
  }

  bool hear_stray(std::int64_t epoch) {
    Message stray = message(MessageKind::kBroken);
    stray.epoch = epoch;
    return course_.on_stray(lock_, stray);
  }

  void refuse(std::string_view words) {
    const Flight flight = landed();
    claim().asking.out = false;
    course_.on_acquire_error(claim(), claim().node(), words);
    course_.reconcile(claim());
  }

  void refuse_leave(std::string_view words) { left(std::nullopt, words); }

  // The server has answered a renewal.
  void on_still_ours_until(Micros deadline) {
    watchdog_.extend_deadline(claim(), deadline, config_.watchdog_lease);
  }

  // The time has come that the claim's timer was set to.
  void wait_for_timer() {
    now_ = claim().timer.at;
    course_.on_due(claim());
    course_.reconcile(claim());
  }

  [[nodiscard]] const Event& last() const { return events_.events.back(); }
};

}  // namespace belay
