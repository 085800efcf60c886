#include "sim/checks.h"

#include <algorithm>
#include <iterator>

#include "base/packing.h"
#include "dialect/keys.h"
#include "scripts/scripts.h"

namespace belay::sim {

namespace {

constexpr Micros kRounding = 5;  // of converting between clocks
// What a few grants reserve that follow at once.
constexpr Micros kMostAhead = 2 * kMillisecond;
constexpr Micros kBreakEcho = 60 * kSecond;  // longer than any lease in a schedule
// Of a command: after EVALSHA, the script and how many keys.
constexpr std::size_t kRecordKey = 3;
constexpr std::size_t kFenceKey = 4;

std::string label(const std::pair<int, std::int64_t>& key) {
  return "hold " + std::to_string(key.second) + " of process " + std::to_string(key.first);
}

}  // namespace

void Checks::accepted(Process& process, std::int64_t tag, const AcquireRequest& request) {
  const Key key(process.number(), tag);
  std::vector<std::pair<std::string, Want>> names = request.names;
  if (names.empty()) {
    names.emplace_back(request.name, request.want);
  }
  std::vector<Submission>& submissions = pending_[key];
  submissions.clear();
  for (const auto& [name, want] : names) {
    longest_delay_[name] = std::max(longest_delay_[name], want.lock_delay);
    Submission submission{request.primitive->kind(),
                          name,
                          request.owner,
                          want,
                          request.lease,
                          request.max_hold,
                          world_.now(),
                          highest_fence_[name],
                          groups_[name],
                          names.size() > 1,
                          false};
    submission.floor_is_its_owners =
        stands(process.number(), submission, submission.fence_floor) ||
        is_a_part(process.number(), submission, submission.fence_floor);
    submissions.push_back(submission);
  }
}

void Checks::shared(Process& process, std::int64_t hold) {
  live_.find({process.number(), hold})->second.want.group = kReaders;
}

void Checks::on_event(Process& process, const Event& event) {
  if (event.tag != 0) {
    const auto found = pending_.find({process.number(), event.tag});
    if (found == pending_.end()) {
      world_.violation("P2: an event for tag " + std::to_string(event.tag) + " of process " +
                       std::to_string(process.number()) + " that is not pending");
      return;
    }
    const std::vector<Submission> submissions = found->second;
    pending_.erase(found);
    const bool granted = event.hold != 0 && event.kind == BELAY_EVENT_ACQUIRED && event.status.ok();
    grants_ += granted ? 1 : 0;
    for (std::size_t i = 0; granted && i < submissions.size(); ++i) {
      on_acquired(process, event, submissions.size() == 1 ? event.fence : event.fences.at(i),
                  submissions[i]);
    }
    return;
  }
  if (event.kind == BELAY_EVENT_AT_RISK || event.kind == BELAY_EVENT_RECOVERED) {
    on_risk(process, event);
  }
  if (event.kind == BELAY_EVENT_LOST) {
    const auto [first, last] = live_.equal_range({process.number(), event.hold});
    if (first == last || first->second.lost) {
      world_.violation("P1: LOST told twice, or of no hold: " +
                       label({process.number(), event.hold}));
      return;
    }
    for (auto found = first; found != last; ++found) {
      if (event.status.reason != BELAY_REASON_CLOSED) {  // then it is released
        check_loss(found->first, found->second);
        begin_lock_delay(found->second);
      }
      found->second.lost = true;
      found->second.believed_until = 0;
    }
  }
}

void Checks::on_message(const Process& process, const Message& message) {
  const auto broken = breaks_.find(message.name);
  if (message.kind == MessageKind::kBroken && broken != breaks_.end() &&
      broken->second.at == message.server_time.since_1970) {  // else somebody else has made it
    known_breaks_[{process.number(), message.name}] = broken->second.at;
  }
}

void Checks::wiped(std::size_t host, const std::string& key) {
  wipes_[{host, key}][world_.now()] = world_.server_time(host);
}

// It may have missed some, but it has not heard of a later one than the latest before the news.
void Checks::on_invalidated(const Process& process, std::size_t host, std::string_view key,
                            Micros written) {
  const HostKey what(host, key);
  const std::map<Micros, Micros>& times = wipes_[what];
  const auto later = times.upper_bound(written);
  if (later != times.begin()) {
    Micros& known = known_wipes_[{process.number(), what}];
    known = std::max(known, std::prev(later)->second);
  }
}

// What was lost before its time is what the server does not know any more. Of a set, any part.
void Checks::check_loss(const Key& key, const Live& live) {
  const bool early = live.believed_until > world_.now() + kRounding;
  if (early && live.kind == Kind::kLock && !live.of_a_set && exclusion_applies(live.name) &&
      custody_.expires(live.name, key.first) > 0) {
    world_.violation("P1: " + label(key) + " was lost, but the server keeps it");
  }
}

// Nobody else is to have it before. A process that was paused learns late of its loss. Where a
// claim's other holds go on, the delay begins later.
void Checks::begin_lock_delay(const Live& live) {
  if (!exclusion_applies(live.name)) {
    return;
  }
  // A claim may have a longer one than the owner who was handed it; and where another of its holds
  // is given back before it has passed, it counts from then.
  Micros& delayed_until = delayed_until_[live.name];
  delayed_until = std::max(delayed_until, world_.now() + 2 * longest_delay_[live.name]);
  if (live.owner == 0) {  // where an owner re-enters, the first hold's counts
    Micros& not_before = not_before_[live.name];
    not_before = std::max(
        not_before, std::min(world_.now(), live.believed_until) + live.want.lock_delay * 99 / 100);
  }
}

void Checks::on_acquired(Process& process, const Event& event, std::int64_t fence,
                         const Submission& submission) {
  check_fence(process, fence, submission);
  if (world_.now() < not_before_[submission.name] && exclusion_applies(submission.name) &&
      submission.want.group.empty() && submission.kind == Kind::kLock && submission.owner == 0) {
    world_.violation("lock-delay: '" + submission.name + "' was granted " +
                     std::to_string((not_before_[submission.name] - world_.now()) / 1000) +
                     " ms too early");
  }
  Want want = submission.want;
  want.permits = event.permits;
  live_.emplace(Key(process.number(), event.hold),
                Live{submission.kind, submission.name, submission.owner, want, submission.asked_at,
                     fence, world_.now(), false, submission.lease, submission.max_hold,
                     submission.of_a_set, world_.now()});
}

// Only a max-hold, when it is reached, is told of what is at risk already.
void Checks::on_risk(Process& process, const Event& event) {
  const bool at_risk = event.kind == BELAY_EVENT_AT_RISK;
  const auto [first, last] = live_.equal_range({process.number(), event.hold});
  for (auto found = first; found != last; ++found) {
    Live& live = found->second;
    if (live.lost || (live.at_risk == at_risk && live.max_hold == 0)) {
      world_.violation("P1: " + std::string(at_risk ? "AT_RISK" : "RECOVERED") + " told twice, or" +
                       " of no hold: " + label(found->first));
    }
    live.at_risk = at_risk;
    live.warned_until = process.true_time_of(process.clock() + event.remaining);
  }
}

// What is held beyond the end of which it was warned has been renewed or confirmed: it has
// recovered, unless little is left again, or its max-hold was reached. Where several holds share a
// claim, a renewal may have been for another.
void Checks::check_risk(const Key& key, const Live& live, const Engine::HoldView& view) {
  if ((view.state == BELAY_HOLD_AT_RISK) != live.at_risk) {
    world_.violation("P1: whether " + label(key) + " is at risk was not told");
  }
  const Micros drift = live.max_hold / 100 + kRounding;
  const bool reached = live.max_hold > 0 && world_.now() >= live.granted_at + live.max_hold - drift;
  // A fixed lease needs no renewal beyond its end.
  const bool to_its_end =
      live.lease > 0 && world_.now() + view.remaining >=
                            live.granted_at + live.lease - live.lease / 50 - 20 * kMillisecond;
  const Micros lease = live.lease > 0 ? live.lease : watchdog_lease_;
  const Micros little = to_its_end ? 0 : lease * 102 / 300 + 20 * kMillisecond;
  if (live.at_risk && !reached && world_.now() > live.warned_until + kRounding &&
      view.remaining > little && live.owner == 0 && !live.want.shared() && !live.of_a_set) {
    world_.violation("P1: " + label(key) + " was not said to have recovered");
  }
  if (reached && live.lease == 0 &&
      world_.now() > live.granted_at + live.max_hold + drift + watchdog_lease_ * 102 / 100 +
                         20 * kMillisecond) {
    world_.violation("P1: " + label(key) + " is held beyond its max-hold");
  }
}

// Whether the owner has the name under that fence by a hold that was told of; or under an earlier
// one, if it shares the name under the latest that its process was told of, or that its grant has.
bool Checks::stands(int process, const Submission& submission, std::int64_t fence) const {
  const auto told = told_.find({process, submission.name});
  const bool is_latest = told != told_.end() && told->second.first == fence;
  const auto epoch_of = [&](std::int64_t one) {
    return custody_.epoch_of(submission.name, process, one);
  };
  return std::any_of(live_.begin(), live_.end(), [&](const auto& entry) {
    const Live& live = entry.second;
    return entry.first.first == process && live.name == submission.name && !live.lost &&
           live.owner == submission.owner && submission.owner != 0 &&
           (live.fence == fence ||
            (submission.want.shared() && live.fence < fence &&
             (is_latest || (epoch_of(fence) != 0 && epoch_of(live.fence) == epoch_of(fence)))));
  });
}

// What a set has while it waits for other names is told to nobody, but its owner re-enters it: the
// fence is then told before the set is, and again after those holds are gone. That is right only
// for the latest fence, which this owner was told of, and as long as a set that may have it is
// pending or comes true: one that was asked for before that fence was, or while its owner had it.
bool Checks::is_a_part(int process, const Submission& submission, std::int64_t fence) const {
  const auto highest = highest_fence_.find(submission.name);
  const auto owner = owner_.find(submission.name);
  if (submission.owner == 0 || owner == owner_.end() || highest->second != fence ||
      owner->second != std::pair(process, submission.owner)) {
    return false;
  }
  const auto may_have = [&](const Submission& one) {
    return one.may_have(fence) && one.name == submission.name && one.owner == submission.owner;
  };
  return may_have(submission) || any_pending(process, may_have);
}

// Whether what is told first may re-enter what a set of the owner has alone.
bool Checks::re_enters_alone(int process, const Submission& submission, std::int64_t fence) const {
  return submission.owner != 0 && any_pending(process, [&](const Submission& one) {
           return one.may_have(fence) && one.name == submission.name &&
                  one.owner == submission.owner && !one.want.shared();
         });
}

bool Checks::any_pending(int process, const std::function<bool(const Submission&)>& is_so) const {
  return std::any_of(pending_.begin(), pending_.end(), [&](const auto& entry) {
    return entry.first.first == process &&
           std::any_of(entry.second.begin(), entry.second.end(), is_so);
  });
}

// Where two tenures overlap because data were lost, the clock jumped or the lock was broken, the
// older one's local handoffs go on under its own, lower fences until it knows, and its grant may
// still be on its way: what the resource refuses.
bool Checks::of_old_tenure(int process, const Submission& submission, std::int64_t fence) const {
  if (exclusion_applies(submission.name)) {
    return false;
  }
  if (world_.has_two_masters()) {
    return true;
  }
  const auto broken = breaks_.find(submission.name);
  const std::int64_t last_before_break = broken == breaks_.end() ? 0 : broken->second.last_fence;
  if (fence <= world_.data_lost_at(world_.host_of(key_of("belay:", 'r', submission.name))) ||
      fence <= last_before_break) {
    return true;
  }
  const auto found = told_.find({process, submission.name});
  const auto [told, owner] =
      found == told_.end() ? std::pair<std::int64_t, std::int64_t>() : found->second;
  const bool again = submission.want.shared() || (owner == submission.owner && owner != 0);
  return (fence > told || (fence == told && again)) &&
         custody_.epoch_of(submission.name, process, fence) != 0;
}

void Checks::check_fence(Process& process, std::int64_t fence, const Submission& submission) {
  const bool re_entered =
      stands(process.number(), submission, fence) || is_a_part(process.number(), submission, fence);
  std::int64_t& highest = highest_fence_[submission.name];
  std::set<std::string>& groups = groups_[submission.name];
  const bool old_tenure = of_old_tenure(process.number(), submission, fence);
  // Those who share a tenure share its fence. Who has it alone may come to share it with any group
  // that it re-enters it with.
  const auto with = [&submission](const std::set<std::string>& others) {
    return submission.want.shared() &&
           (others.empty() || others.contains("") || others.contains(submission.want.group));
  };
  const bool together = fence == highest && with(groups);
  const bool as_before = fence == submission.fence_floor && with(submission.groups_of_floor);
  told_[{process.number(), submission.name}] = {fence, submission.owner};
  if (!re_entered && !old_tenure && !together && !(faults_.data_loss && faults_.clock_back)) {
    if (fence <= submission.fence_floor && !as_before) {
      world_.violation("P5: fence " + std::to_string(fence) + " of '" + submission.name + "'" +
                       " is not above " + std::to_string(submission.fence_floor) +
                       ", delivered before it was asked for");
    } else if (exclusion_applies(submission.name) && submission.kind == Kind::kLock &&
               fence <= highest) {
      world_.violation("P5: fence " + std::to_string(fence) + " of '" + submission.name + "'" +
                       " is not above " + std::to_string(highest));
    }
  }
  // No fence is below the server's time at its grant.
  const auto broken = known_breaks_.find({process.number(), submission.name});
  if (!re_entered && broken != known_breaks_.end() && fence < broken->second &&
      !faults_.data_loss && !faults_.clock_back) {
    world_.violation("P1: '" + submission.name + "' was granted under fence " +
                     std::to_string(fence) + ", which its process knew to be broken");
  }
  const std::string record = key_of("belay:", 'r', submission.name);
  for (const std::string& key : {record, std::string()}) {
    const auto wiped = known_wipes_.find({process.number(), {world_.host_of(record), key}});
    if (!re_entered && wiped != known_wipes_.end() && fence < wiped->second &&
        !faults_.clock_back && !faults_.failovers && !world_.has_moved(record)) {
      world_.violation("P1: '" + submission.name + "' was granted under fence " +
                       std::to_string(fence) + ", which its process knew to be wiped");
    }
  }
  if (fence > highest) {
    owner_[submission.name] = {process.number(), submission.owner};
    groups.clear();
    if (re_enters_alone(process.number(), submission, fence)) {
      groups.insert("");
    }
  }
  if (fence >= highest) {
    groups.insert(submission.want.group);
  }
  highest = std::max(highest, fence);
}

void Checks::given_up(Process& process, std::int64_t hold) {
  live_.erase({process.number(), hold});
}

void Checks::must_be_lost(const Process& process, std::int64_t hold) {
  const auto [first, last] = live_.equal_range({process.number(), hold});
  if (std::any_of(first, last, [](const auto& entry) { return !entry.second.lost; })) {
    world_.violation("P1: " + label({process.number(), hold}) + " was not lost at the shutdown");
  }
}

void Checks::broken(const std::string& name) {
  breaks_[name].until = world_.now() + kBreakEcho;
}

void Checks::after_script(Server::Args argv) {
  if (argv.size() <= kFenceKey ||
      (argv[1] != scripts::kBreak.sha1 && argv[1] != scripts::kBreak.body)) {
    return;
  }
  for (auto& [name, latest] : breaks_) {
    if (argv[kRecordKey] == key_of("belay:", 'r', name)) {
      Server& server = world_.server_of(argv[kFenceKey]);
      latest.at = world_.server_time(world_.host_of(argv[kFenceKey]));
      latest.last_fence = Unpacker(server.text(argv[kFenceKey]).value_or("")).number();
    }
  }
}

// With lost data, a clock that jumped ahead or a broken lock two may believe at once: the fence is
// what protects then.
bool Checks::exclusion_applies(const std::string& name) const {
  const auto broken = breaks_.find(name);
  return !faults_.data_loss && !faults_.clock_forward &&
         (broken == breaks_.end() || broken->second.until < world_.now());
}

// Data that were lost before say nothing of such a grant: it is the server's, and nobody else's.
// Unless its clock steps, or two are masters.
bool Checks::granted_since_all_was_lost(const Live& live) const {
  const bool in_order = !world_.has_two_masters() &&
                        (world_.replication() || (!faults_.clock_back && !faults_.clock_forward));
  const auto broken = breaks_.find(live.name);
  const std::size_t host = world_.host_of(key_of("belay:", 'r', live.name));
  return in_order && (broken == breaks_.end() || broken->second.until < world_.now()) &&
         live.fence > world_.data_lost_at(host) + kMostAhead;
}

void Checks::after_step(Process& process) {
  for (auto& [key, live] : live_) {
    if (key.first != process.number() || live.lost) {
      continue;
    }
    const std::optional<Engine::HoldView> view = process.look(key.second);
    if (view->state == BELAY_HOLD_LOST || view->state == 0) {
      if (!live.lost) {
        world_.violation("P1: " + label(key) + " is gone and no LOST was told");
      }
      continue;
    }
    if (view->remaining <= 0) {
      world_.violation("P1: " + label(key) + " is said to be held after its deadline");
    }
    check_risk(key, live, *view);
    live.believed_until = process.true_time_of(process.clock() + view->remaining);
    check_exclusion(key, live);
  }
}

void Checks::check_exclusion(const Key& key, const Live& live) {
  const bool always = exclusion_applies(live.name);
  if (!always && !granted_since_all_was_lost(live)) {
    return;
  }
  if (live.kind == Kind::kSemaphore) {
    if (always) {
      check_limit(live.name);
    }
    return;
  }
  for (const auto& [other_key, other] : live_) {
    const bool same_owner =
        other_key.first == key.first && other.owner == live.owner && live.owner != 0;
    const bool together = live.want.shared() && live.want.group == other.want.group;
    if (other_key != key && !same_owner && !together && other.name == live.name && !other.lost &&
        other.believed_until > world_.now() + kRounding &&
        (always || granted_since_all_was_lost(other))) {
      world_.violation("exclusion: " + label(key) + " and " + label(other_key) + " both hold '" +
                       live.name + "'");
    }
  }
}

// Whoever was granted last, fences tell, found all the others there. A limit that was lowered since
// takes nothing back.
void Checks::check_limit(const std::string& semaphore) {
  std::int64_t permits = 0;
  const Live* last = nullptr;
  for (const auto& [key, live] : live_) {
    if (live.name == semaphore && !live.lost && live.believed_until > world_.now() + kRounding) {
      permits += live.want.permits;
      last = last == nullptr || live.fence > last->fence ? &live : last;
    }
  }
  const std::int64_t limit = last == nullptr ? 0 : limits_.highest_since(last->asked_at);
  if (permits > limit) {
    world_.violation("exclusion: " + std::to_string(permits) + " permits of '" + semaphore +
                     "' are held, of " + std::to_string(limit));
  }
}

void Checks::crashed(Process& process) {
  for (const auto& [key, live] : live_) {
    if (key.first == process.number() && !live.lost) {
      begin_lock_delay(live);
    }
  }
  std::erase_if(live_, [&](const auto& entry) { return entry.first.first == process.number(); });
  std::erase_if(pending_, [&](const auto& entry) { return entry.first.first == process.number(); });
}

void Checks::ended(Process& process) {
  for (const auto& [key, submission] : pending_) {
    if (key.first == process.number()) {
      world_.violation("P2: tag " + std::to_string(key.second) + " of process " +
                       std::to_string(process.number()) + " had no event before END");
      return;
    }
  }
  std::erase_if(live_, [&](const auto& entry) { return entry.first.first == process.number(); });
}

bool Checks::holds(int process, const std::string& name) const {
  return std::any_of(live_.begin(), live_.end(), [&](const auto& entry) {
    return entry.first.first == process && entry.second.name == name;
  });
}

bool Checks::believes(int process, const std::string& name) const {
  return std::any_of(live_.begin(), live_.end(), [&](const auto& entry) {
    return entry.first.first == process && entry.second.name == name && !entry.second.lost &&
           entry.second.believed_until > world_.now() + kRounding;
  });
}

Micros Checks::longest_delay() const {
  Micros longest = 0;
  for (const auto& [name, delay] : longest_delay_) {
    longest = std::max(longest, delay);
  }
  return longest;
}

Micros Checks::believed_until(const std::string& name) const {
  Micros latest = 0;
  for (const auto& [key, live] : live_) {
    if (live.name == name && !live.lost) {
      latest = std::max(latest, live.believed_until);
    }
  }
  const auto delayed = delayed_until_.find(name);
  return delayed == delayed_until_.end() ? latest
                                         : std::max(latest, delayed->second + 20 * kMillisecond);
}

void Checks::at_end(const std::vector<std::unique_ptr<Process>>& processes) {
  if (!pending_.empty()) {
    world_.violation("P2: tag " + std::to_string(pending_.begin()->first.second) + " of process " +
                     std::to_string(pending_.begin()->first.first) + " never had an event");
  }
  for (const auto& process : processes) {
    if (process->alive() && !process->idle()) {
      world_.violation("process " + std::to_string(process->number()) +
                       " still remembers a claim when all have ended");
    }
  }
  for (std::size_t host = 0; host < world_.hosts(); ++host) {
    check_rest(world_.server(host));
  }
}

// What may stay for ever, and nothing else, is left.
void Checks::check_rest(Server& server) {
  const int connection = server.connect([](std::string_view) {});
  const std::string keys = server.execute(connection, {"KEYS", "*"});
  server.disconnect(connection);
  ReplyReader reader;
  static_cast<void>(reader.feed(keys, [this](Reply reply) {
    for (std::size_t i = 0; i < reply.size(); ++i) {
      const bool limit = reply.at(i).text() == "belay:r:{s}";  // a semaphore's stays for a day
      const bool written =
          reply.at(i).text().starts_with("belay:g:") || reply.at(i).text().starts_with("written:");
      if (!reply.at(i).text().starts_with("belay:f:") && !limit && !written) {
        world_.violation("the server still has " + std::string(reply.at(i).text()));
      }
    }
    return true;
  }));
}

}  // namespace belay::sim
