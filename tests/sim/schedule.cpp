#include "sim/schedule.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "dialect/keys.h"
#include "dialect/limit.h"
#include "dialect/queries.h"
#include "route/slot.h"
#include "sim/checks.h"
#include "sim/custody.h"
#include "sim/doubts.h"
#include "sim/forger.h"
#include "sim/limits.h"
#include "sim/plan.h"
#include "sim/process.h"
#include "sim/releases.h"
#include "sim/replicas.h"
#include "sim/rounds.h"
#include "sim/service.h"
#include "sim/standby.h"
#include "sim/world.h"
#include "sim/writes.h"

namespace belay::sim {

namespace {

constexpr Micros kQuiet = 16 * kSecond;  // fallback polls of 6 s, a lease, grant leases
constexpr const char* kSemaphore = "s";
constexpr std::int64_t kLimit = 3;
constexpr const char* kLatch = "l";
constexpr Micros kLatchGoes = 3 * kSecond;  // after the last request: nobody will open it any more
constexpr Micros kMostBack = 4 * kSecond;   // that a clock goes: what the dead have is kept as long
constexpr Micros kIdleAfter = 100 * kSecond;  // nobody needs it any more
constexpr Micros kEndAfter = 1000 * kSecond;  // so long stands what several held at most

// Somebody in a process who wants locks: submits, waits for the event, holds, gives back, over and
// over.
struct User {
  Process* process = nullptr;
  std::int64_t owner = 0;
  std::string name;
  std::vector<std::string> names;  // several, in any order; `name` is the first then
  std::int64_t tag = 0;            // of the pending acquire
  Micros asked_at = 0;
  bool changes = false;  // what is pending changes something: that is not taken back
  bool timed = false;    // asks for a time of its own, or re-enters what may have one
  std::vector<std::int64_t> holds;
};

// What a request says beyond its name, for the trace.
std::string fences_of(const Event& event) {
  std::string text = std::to_string(event.fence);
  for (std::size_t i = 1; i < event.fences.size(); ++i) {
    text += " " + std::to_string(event.fences[i]);
  }
  return text;
}

void add_ms(std::string& text, const char* what, Micros time) {
  if (time > 0) {
    text += std::string(", ") + what + " " + std::to_string(to_ms(time)) + " ms";
  }
}

std::string words(const std::string& name, const Want& want) {
  std::string text = "'" + name + "'";
  text += want.group.empty() ? "" : ", group " + want.group;
  if (name == kSemaphore) {
    text += ", " + std::to_string(want.permits) + " of " + std::to_string(want.limit);
  }
  add_ms(text, "lock-delay", want.lock_delay);
  return text;
}

std::string words(const AcquireRequest& request, Micros wait) {
  std::string text = request.names.empty() ? words(request.name, request.want) : "";
  for (const auto& [name, want] : request.names) {
    text += (text.empty() ? "all of " : "; ") + words(name, want);
  }
  const auto add_ms = [&text](const char* what, Micros time) { sim::add_ms(text, what, time); };
  add_ms("lease", request.lease);
  add_ms("max-hold", request.max_hold);
  add_ms("wait", wait == kNever ? 0 : wait);
  text += request.confirmed ? ", confirmed" : "";
  return text + (request.owner == 0 ? "" : ", owner " + std::to_string(request.owner)) +
         (wait == 0 ? ", a try" : "");
}

class Schedule {
 public:
  Schedule(std::uint64_t seed, bool verbose, Decisions* decisions)
      : chooser_(seed * 7919 + 13),
        plan_(make_plan(chooser_)),
        world_(chooser_.next(), plan_.faults, plan_.longest_delay, decisions,
               plan_.hosts + plan_.sentinels),
        custody_(world_, plan_.faults, [this](int process) { return remembers(process); }),
        limits_(world_, plan_.faults, kSemaphore),
        checks_(world_, plan_.faults, custody_, limits_, plan_.lease),
        doubts_(world_, plan_.faults, custody_, checks_, plan_.lease, plan_.timeout),
        releases_(world_, plan_.faults, custody_),
        rounds_(world_, plan_.faults, kLatch),
        writes_(world_, plan_.faults),
        service_(world_, {std::max(plan_.lease, plan_.longest_fixed()), plan_.timeout,
                          plan_.longest_delay, plan_.turn, plan_.rows}) {
    world_.set_verbose(verbose);
    world_.set_onlooker({[this] {
                           limits_.before_script();
                           custody_.before_script();
                           rounds_.before_script();
                           writes_.before_script();
                         },
                         [this](int process, Server::Args argv, bool failed) {
                           limits_.after_script(process);
                           custody_.after_script(process, argv);
                           rounds_.after_script(argv);
                           writes_.after_script();
                           checks_.after_script(argv);
                           doubts_.after_script(process, argv);
                           releases_.after_script(process, argv, failed);
                           look_for_late_grants(process);
                         }});
    if (plan_.steady) {
      world_.calm();
      world_.set_shortest_delay(plan_.longest_delay / 2);
      world_.lose_messages(plan_.faults.lost_pushes ? 10 : 0);
    }
    if (plan_.server_drifts) {
      world_.speed_up_servers();
    }
    if (plan_.cluster) {
      world_.become_a_cluster(plan_.hosts - 1, plan_.old);
      standby_ = std::make_unique<Standby>(world_);
    }
    if (plan_.replicas > 0) {
      world_.become_replicated(1 + plan_.replicas, plan_.clocks_apart);
      replicas_ = std::make_unique<Replicas>(world_);
    }
    names_ = {"a"};
    if (world_.chance(30)) {
      names_.emplace_back("{b}c");
    }
    if (plan_.sets) {
      names_ = {"a", "{b}c", "d"};
    }
    if (plan_.semaphore) {
      names_.emplace_back(kSemaphore);
    }
    for (const std::string& name : names_) {
      custody_.watch(name);
      if (name != kSemaphore) {
        doubts_.watch(name);
      }
      if (plan_.writes) {
        writes_.watch(name);
      }
    }
    for (std::int64_t i = 0; i < plan_.processes; ++i) {
      add_process(plan_.start_at);
    }
  }

  Outcome run() {
    for (Micros at = plan_.start_at + in(plan_.between_faults); at < plan_.calm_at;
         at += in(plan_.between_faults)) {
      world_.at(at, [this] { fault(); });
    }
    if (plan_.forged) {
      std::vector<std::string> names = names_;
      names.emplace_back(kLatch);
      forger_ = std::make_unique<Forger>(world_, std::move(names), !plan_.steady);
      world_.set_listener([this](std::string_view push) { forger_->overhear(push); });
      world_.at(plan_.start_at, [this] { forge(); });
    }
    world_.at(plan_.calm_at, [this] {
      world_.trace("--- faults are over");
      world_.calm();
      calm_ = true;
      watch_progress();
      watch_losses();
    });
    world_.at(plan_.drain_at, [this] {
      world_.trace("--- no new requests");
      draining_ = true;
    });
    if (plan_.latch) {
      const Micros gone_at =
          std::max(plan_.drain_at, plan_.calm_at) + kLatchGoes + 2 * plan_.timeout;
      world_.at(gone_at, [this] { delete_key(key_of("belay:", 'r', kLatch)); });
      world_.at(gone_at + quiet_bound(), [this] { check_waits(); });
    }
    if (plan_.sentinels > 0) {
      world_.at(plan_.drain_at + kIdleAfter, [this] { end_the_idle(); });
    }
    const Micros drain_at = plan_.drain_at;
    if (!world_.run(drain_at + kEndAfter)) {
      world_.violation("livelock: too many events");
    }
    if (world_.violation().empty()) {
      checks_.at_end(processes_);
    }
    world_.set_verbose(false);  // what follows is cleaning up
    return {world_.violation(), world_.events(), checks_.grants(), world_.digest().value()};
  }

 private:
  Micros in(const Range& range) { return world_.span(range.low, range.high); }

  bool chance_of(std::int64_t percent) { return world_.chance(static_cast<int>(percent)); }

  // Far away also leases and grant leases of dead ones, connecting and asking take their time.
  Micros quiet_bound() const {
    return kQuiet +
           (plan_.distant ? 2 * plan_.lease + plan_.timeout + 60 * plan_.longest_delay : 0);
  }

  bool remembers(int number) const {
    const auto known = static_cast<std::size_t>(number) < processes_.size();
    return !known || abandoners_.contains(number) ||
           !processes_[static_cast<std::size_t>(number)]->alive() ||
           !processes_[static_cast<std::size_t>(number)]->idle();
  }

  void add_process(Micros start_at) {
    const int number = static_cast<int>(processes_.size());
    const Process::Observer observer{
        [this](Process& process, const Event& event) { on_event(process, event); },
        [this](Process& process) {
          checks_.after_step(process);
          custody_.after_step(process.number());
          look_at_service();
        },
        [this](Process& process, const Message& message) { checks_.on_message(process, message); },
        [this](Process& process, std::size_t host, std::string_view key, Micros written) {
          checks_.on_invalidated(process, host, key, written);
        }};
    processes_.push_back(std::make_unique<Process>(world_, number, observer, plan_.lease,
                                                   plan_.timeout, plan_.slots_apart));
    const std::int64_t users =
        world_.random().between(plan_.most_users > 3 ? 3 : 1, plan_.most_users);
    for (std::int64_t i = 0; i < users; ++i) {
      auto user = std::make_unique<User>();
      user->process = processes_.back().get();
      user->owner = plan_.re_entry && world_.chance(40) ? world_.random().between(1, 2) : 0;
      users_.push_back(std::move(user));
      act_in(*users_.back(),
             std::max<Micros>(0, start_at - world_.now()) + world_.span(100, 100 * kMillisecond));
    }
  }

  void act_in(User& user, Micros delay) {
    world_.at(world_.now() + delay, [this, &user] { act(user); });
  }

  // ---- What users do

  void act(User& user) {
    if (!user.process->alive()) {
      return;
    }
    if (user.process->paused()) {
      act_in(user, world_.random().between(5, 100) * kMillisecond);
      return;
    }
    if (user.tag != 0) {
      return;  // its event makes it act again
    }
    if (user.holds.empty()) {
      const bool stays = world_.decide();
      const bool acquires = world_.decide();
      if (!draining_ && stays) {
        if (acquires && plan_.latch && world_.chance(30)) {
          use_latch(user);
        } else if (acquires && plan_.semaphore && plan_.limits > 0 && chance_of(plan_.limits)) {
          set_limit(user);
        } else if (acquires) {
          acquire(user);
        } else {
          act_in(user, in(plan_.think));
        }
      }
      return;
    }
    use_hold(user);
  }

  void acquire(User& user) {
    if (user.holds.empty()) {
      const auto last = static_cast<std::int64_t>(names_.size()) - 1;
      user.name =
          names_[static_cast<std::size_t>(plan_.stopped ? last : world_.random().between(0, last))];
      user.names = plan_.sets && world_.chance(60) ? some_names() : std::vector<std::string>();
      user.name = user.names.empty() ? user.name : user.names.front();
    }
    AcquireRequest request;
    user.changes = false;
    request.primitive = user.name == kSemaphore ? &user.process->dialect().semaphore
                                                : &user.process->dialect().lock;
    request.name = user.name;
    request.want = some_want(user.name);
    for (const std::string& name : user.names) {
      request.names.emplace_back(name, some_want(name));
    }
    request.owner = user.owner;
    request.notify = true;
    // One that is shorter than four times the way there and back is refused.
    const Micros shortest = 100 * kMillisecond + (plan_.steady ? 8 * plan_.longest_delay : 0);
    const Micros longest = plan_.longest_fixed();
    request.lease = chance_of(plan_.fixed) ? world_.span(shortest, std::max(shortest, longest)) : 0;
    request.max_hold = world_.chance(10) ? world_.span(100 * kMillisecond, 2 * kSecond) : 0;
    request.confirmed = world_.chance(20);
    const std::int64_t kind = world_.random().between(1, 100);
    const Micros wait = kind <= 15 ? 0 : kind <= 40 ? world_.span(500, plan_.longest_wait) : kNever;
    if (user.name == kSemaphore && wait == 0 && world_.chance(50)) {
      request.want.permits = 0;  // all that are free
    }
    const std::int64_t tag = ++last_tag_;
    world_.trace("user of process " + std::to_string(user.process->number()) + " acquires " +
                 words(request, wait) + ", tag " + std::to_string(tag));
    user.process->call([&](Engine& engine, Micros now) {
      user.tag = tag;
      user.asked_at = world_.now();
      user.timed = request.lease > 0 || request.max_hold > 0 || user.owner != 0;
      checks_.accepted(*user.process, tag, request);
      doubts_.asked(*user.process, tag, names_of(user), request.lease);
      const auto acquires = [&](std::int64_t free) {
        return engine.acquire(free, request, wait, now);
      };
      if (!user.process->submit(tag, acquires).ok()) {  // it is shutting down
        user.tag = 0;
        checks_.refused(*user.process, tag);
      }
    });
    if (haunts(*user.process)) {
      world_.at(world_.now() + world_.span(kMillisecond, 100 * kMillisecond),
                [this, &user, tag] { cancel(user, tag); });
    } else if (world_.chance(15) && world_.decide()) {
      world_.at(world_.now() + world_.span(200, 500 * kMillisecond),
                [this, &user, tag] { cancel(user, tag); });
    }
  }

  static Status ask(Process& process, Engine& engine, std::int64_t tag,
                    std::unique_ptr<Query> query, Micros now) {
    return process.submit(
        tag, [&](std::int64_t free) { return engine.query(free, std::move(query), now); });
  }

  // Cuts off what was just asked for, on its way, to arrive late.
  bool haunts(Process& process) {
    const bool cuts = plan_.haunted && !calm_ && world_.chance(30) && world_.decide();
    if (cuts) {
      world_.at(world_.now() + world_.random().between(1, plan_.longest_delay),
                [&process] { process.cut(true, true); });
    }
    return cuts;
  }

  void set_limit(User& user) {
    const std::int64_t tag = ++last_tag_;
    const std::int64_t limit = some_limit();
    Process& process = *user.process;
    user.name.clear();
    user.names.clear();
    user.changes = true;
    world_.trace("process " + std::to_string(process.number()) + " sets the limit to " +
                 std::to_string(limit) + ", tag " + std::to_string(tag));
    process.call([&](Engine& engine, Micros now) {
      user.tag = tag;
      checks_.accepted(process, tag);
      limits_.asked(process, tag, limit);
      auto query = limit_query(process.dialect().semaphore, kSemaphore, limit);
      if (!ask(process, engine, tag, std::move(query), now).ok()) {
        user.tag = 0;
        checks_.refused(process, tag);
      }
    });
    haunts(process);
  }

  std::int64_t some_limit() { return world_.random().between(1, kLimit); }

  // Sets it, counts it down or awaits it.
  void use_latch(User& user) {
    const std::int64_t kind = world_.random().between(1, 100);
    const std::int64_t tag = ++last_tag_;
    Process& process = *user.process;
    user.name = kLatch;
    user.names.clear();
    user.changes = kind <= 60;
    if (!user.changes) {
      await(user, tag);
      return;
    }
    const std::int64_t number = world_.random().between(1, 3);
    const Micros life = world_.chance(30) ? world_.span(100 * kMillisecond, 3 * kSecond) : 0;
    world_.trace("process " + std::to_string(process.number()) +
                 (kind <= 20 ? " sets" : " counts down") + " the latch, tag " +
                 std::to_string(tag));
    process.call([&](Engine& engine, Micros now) {
      user.tag = tag;
      checks_.accepted(process, tag);
      auto query = kind <= 20
                       ? latch_set_query(process.dialect().latch, kLatch, {tag}, number, life)
                       : latch_count_down_query(process.dialect().latch, kLatch, {tag}, 1);
      if (!ask(process, engine, tag, std::move(query), now).ok()) {
        user.tag = 0;
        checks_.refused(process, tag);
      }
    });
    haunts(process);
  }

  void await(User& user, std::int64_t tag) {
    Process& process = *user.process;
    AcquireRequest request;
    request.primitive = &process.dialect().latch;
    request.name = kLatch;
    const std::int64_t kind = world_.random().between(1, 100);
    const Micros wait = kind <= 15 ? 0 : kind <= 40 ? world_.span(500, plan_.longest_wait) : kNever;
    request.want.generation = world_.chance(40) ? rounds_.some_generation() : 0;
    world_.trace("process " + std::to_string(process.number()) + " awaits generation " +
                 std::to_string(request.want.generation) + " of the latch, tag " +
                 std::to_string(tag));
    process.call([&](Engine& engine, Micros now) {
      user.tag = tag;
      checks_.accepted(process, tag);
      rounds_.awaits(process, tag, request.want.generation);
      const auto acquires = [&](std::int64_t free) {
        return engine.acquire(free, request, wait, now);
      };
      if (!process.submit(tag, acquires).ok()) {
        user.tag = 0;
        checks_.refused(process, tag);
      }
    });
    if (world_.chance(15) && world_.decide()) {
      world_.at(world_.now() + world_.span(200, 500 * kMillisecond),
                [this, &user, tag] { cancel(user, tag); });
    }
  }

  // It has been gone for long, and they were not stopped.
  void check_waits() {
    for (const auto& user : users_) {
      if (user->tag != 0 && user->name == kLatch && user->process->alive() &&
          !user->process->paused() && user->process->able_since() <= world_.now() - quiet_bound()) {
        world_.violation("P3: tag " + std::to_string(user->tag) +
                         " still awaits a latch that has been gone for long");
      }
    }
  }

  // Two locks or all three, in any order.
  std::vector<std::string> some_names() {
    std::vector<std::string> names{"a", "{b}c", "d"};
    for (std::size_t i = names.size() - 1; i > 0; --i) {
      std::swap(names[i], names[static_cast<std::size_t>(
                              world_.random().between(0, static_cast<std::int64_t>(i)))]);
    }
    if (world_.chance(60)) {
      names.pop_back();
    }
    return names;
  }

  Want some_want(const std::string& name) {
    Want want;
    const std::int64_t kind = world_.random().between(1, 100);
    if (name == kSemaphore) {
      want.limit = plan_.limits == 0                    ? kLimit
                   : plan_.stopped || world_.chance(50) ? 0
                                                        : some_limit();
      want.permits = kind <= (plan_.stopped ? 40 : 60)   ? 1
                     : kind <= (plan_.stopped ? 55 : 80) ? 2
                                                         : kLimit;
    } else if (plan_.sharing && kind <= plan_.readers) {
      want.group = kReaders;
    } else if (plan_.sharing && kind <= plan_.readers + plan_.identities) {
      want.group = kIdentityGroup + std::string(world_.chance(50) ? "x" : "y");
    }
    // Several who have one together are looked after for their grant lease only.
    if (plan_.sharing && !plan_.rows && chance_of(plan_.delays)) {
      want.lock_delay = world_.span(10 * kMillisecond, 500 * kMillisecond);
    }
    return want;
  }

  void cancel(User& user, std::int64_t tag) {
    if (user.tag != tag || user.changes || user.process->paused() || !user.process->alive()) {
      return;
    }
    world_.trace("tag " + std::to_string(tag) + " is cancelled");
    user.process->call([tag = user.process->tag_of(tag)](Engine& engine, Micros now) {
      static_cast<void>(engine.cancel(tag, now));
    });
    if (user.tag == tag) {
      world_.violation("P2: the cancel of tag " + std::to_string(tag) + " brought no event");
    }
  }

  // What changes something was sent by then, or never is.
  void perhaps_cancel(Process& process, std::int64_t tag) {
    if (!world_.chance(10) || !world_.decide()) {
      return;
    }
    world_.at(world_.now() + world_.span(200, 500 * kMillisecond), [this, &process, tag] {
      if (process.alive() && !process.paused() && process.tag_of(tag) != 0) {
        world_.trace("tag " + std::to_string(tag) + " is cancelled, if that is not too late");
        process.call([tag = process.tag_of(tag)](Engine& engine, Micros now) {
          static_cast<void>(engine.cancel(tag, now));
        });
      }
    });
  }

  void use_hold(User& user) {
    const std::int64_t drawn = world_.random().between(1, 100);
    const std::int64_t dice = world_.decide() ? drawn : 100;
    const std::int64_t hold = user.holds.back();
    if (plan_.writes && world_.chance(50) && world_.decide()) {
      write(user, hold);
    }
    if (!draining_ && chance_of(plan_.extends) && world_.decide()) {
      ask_about(user, hold, true);
    } else if (!draining_ && dice <= 10 && user.owner != 0 && user.name != kSemaphore) {
      acquire(user);  // re-enters
    } else if (dice <= 18) {
      ask_about(user, hold, dice % 2 == 0);
    } else if (dice <= 20 && !draining_ && plan_.faults.breaks) {
      force(user);
    } else if (dice <= 24 && dice > 22 && plan_.sharing) {
      downgrade(user, hold);
    } else if (dice <= 22 && !plan_.steady) {
      world_.trace("hold " + std::to_string(hold) + " is abandoned");
      abandoners_.insert(user.process->number());
      doubts_.abandons(*user.process);
      give_up(user, [hold](Engine& engine, Micros now) { return engine.abandon(hold, now); });
    } else {
      release(user, hold);
    }
  }

  // Under the fence of its first name; goes on meanwhile.
  void write(const User& user, std::int64_t hold) {
    const std::int64_t tag = ++last_tag_;
    Process& process = *user.process;
    const std::int64_t fence = grants_.at({process.number(), hold}).fence;
    world_.trace("process " + std::to_string(process.number()) + " writes for '" + user.name +
                 "' under fence " + std::to_string(fence) + ", tag " + std::to_string(tag));
    process.call([&](Engine& engine, Micros now) {
      checks_.accepted(process, tag);
      auto query = fenced_write_query("belay:", writes_.ask(process, tag, user.name, fence));
      if (!ask(process, engine, tag, std::move(query), now).ok()) {
        checks_.refused(process, tag);
      }
    });
    haunts(process);
    perhaps_cancel(process, tag);
  }

  static std::vector<std::string> names_of(const User& user) {
    return user.names.empty() ? std::vector<std::string>{user.name} : user.names;
  }

  void ask_about(User& user, std::int64_t hold, bool extends) {
    const std::int64_t tag = ++last_tag_;
    const Micros lease = 500 * kMillisecond;
    user.process->call([&](Engine& engine, Micros now) {
      checks_.accepted(*user.process, tag);
      if (extends) {
        doubts_.extends(*user.process, tag, names_of(user), lease);
      }
      const Status status = user.process->submit(tag, [&](std::int64_t free) {
        return extends ? engine.extend(free, hold, lease, now) : engine.verify(free, hold, now);
      });
      if (!status.ok()) {
        checks_.refused(*user.process, tag);
      }
    });
    perhaps_cancel(*user.process, tag);
    act_in(user, in(plan_.hold));
  }

  void downgrade(User& user, std::int64_t hold) {
    const std::int64_t tag = ++last_tag_;
    world_.trace("tag " + std::to_string(tag) + " downgrades hold " + std::to_string(hold));
    user.process->call([&](Engine& engine, Micros now) {
      checks_.accepted(*user.process, tag);
      const auto downgrades = [&](std::int64_t free) {
        return engine.downgrade(free, hold, kReaders, now);
      };
      if (user.process->submit(tag, downgrades).ok()) {
        checks_.shared(*user.process, hold);
      } else {
        checks_.refused(*user.process, tag);
      }
    });
    act_in(user, in(plan_.hold));
  }

  void force(User& user) {
    break_name(*user.process, user.name);
    act_in(user, in(plan_.hold));
  }

  void break_name(Process& process, const std::string& name) {
    const std::int64_t tag = ++last_tag_;
    world_.trace("tag " + std::to_string(tag) + " breaks '" + name + "'");
    checks_.broken(name);
    process.call([&](Engine& engine, Micros now) {
      checks_.accepted(process, tag);
      if (!ask(process, engine, tag, break_query(process.dialect(), name, 0), now).ok()) {
        checks_.refused(process, tag);
      }
    });
    perhaps_cancel(process, tag);
  }

  void release(User& user, std::int64_t hold) {
    if (world_.chance(20) && world_.decide()) {
      release_nowait(user, hold);
      return;
    }
    const std::int64_t tag = ++last_tag_;
    world_.trace("process " + std::to_string(user.process->number()) + " releases hold " +
                 std::to_string(hold));
    const bool twice = world_.chance(10) && world_.decide();
    Process& process = *user.process;
    give_up(user, [this, &user, hold, tag, twice](Engine& engine, Micros now) {
      checks_.accepted(*user.process, tag);
      doubts_.asked(*user.process, tag, names_of(user), 0);
      releases_.asked(*user.process, tag, names_of(user), engine.look(hold, now), now);
      Status status = user.process->submit(
          tag, [&](std::int64_t free) { return engine.release(free, hold, now); });
      if (twice && engine.release(tag + 1'000'000'000, hold, now).code != BELAY_UNKNOWN_HOLD) {
        world_.violation("a hold was released twice");
      }
      return status;
    });
    perhaps_cancel(process, tag);
  }

  // It says at once whether the hold had been lost.
  void release_nowait(User& user, std::int64_t hold) {
    world_.trace("process " + std::to_string(user.process->number()) + " releases hold " +
                 std::to_string(hold) + " without waiting");
    doubts_.leaves_something(*user.process);
    give_up(user, [this, hold](Engine& engine, Micros now) {
      const bool lost = engine.look(hold, now).state == BELAY_HOLD_LOST;
      const Status status = engine.release_nowait(hold, now);
      if (engine.release_nowait(hold, now).code != BELAY_UNKNOWN_HOLD) {
        world_.violation("a hold was released twice");
      }
      return lost && status.code == BELAY_LOST ? Status() : status;
    });
    haunts(*user.process);
  }

  void give_up(User& user, const std::function<Status(Engine&, Micros)>& how) {
    user.process->call([&](Engine& engine, Micros now) {
      const std::int64_t hold = user.holds.back();
      user.holds.pop_back();
      const Status status = how(engine, now);
      if (!status.ok()) {
        world_.violation("hold " + std::to_string(hold) +
                         " could not be given up: " + status.message);
      }
      checks_.given_up(*user.process, hold);
    });
    act_in(user, in(plan_.think));
  }

  void on_event(Process& process, const Event& event) {
    if (world_.verbose()) {
      world_.trace("process " + std::to_string(process.number()) + ": event " +
                   std::to_string(event.kind) + " tag " + std::to_string(event.tag) + " " +
                   belay_status_name(event.status.code) + " hold " + std::to_string(event.hold) +
                   " fence " + fences_of(event) + " " + event.status.message);
    }
    for (const std::int64_t number :
         {world_.now(), std::int64_t{process.number()}, std::int64_t{event.kind}, event.tag,
          std::int64_t{event.status.code}, std::int64_t{event.status.reason}, event.hold,
          event.fence, event.remaining, event.in_doubt}) {
      world_.digest().add(number);
    }
    if (event.status.code == BELAY_SERVER_ERROR && !plan_.faults.errors) {
      world_.violation("the server refused: " + event.status.message);
    }
    checks_.on_event(process, event);
    doubts_.on_event(process, event);
    releases_.on_event(process, event);
    rounds_.on_event(process, event);
    writes_.on_event(process, event);
    limits_.on_event(process, event);
    if (plan_.steady && event.status.reason != BELAY_REASON_CLOSED &&
        (event.kind == BELAY_EVENT_LOST || event.kind == BELAY_EVENT_AT_RISK)) {
      lost_in_calm(process, event);
    }
    if (event.kind == BELAY_EVENT_END) {
      world_.at(world_.now(), [this, &process] {
        process.crash();
        checks_.ended(process);
      });
    }
    const bool change = event.kind == BELAY_EVENT_LATCH_SET ||
                        event.kind == BELAY_EVENT_LATCH_COUNTED_DOWN ||
                        event.kind == BELAY_EVENT_SEMAPHORE_LIMIT_SET;
    if (event.kind != BELAY_EVENT_ACQUIRED && !change) {
      return;
    }
    for (const auto& user : users_) {
      if (user->process == &process && user->tag == event.tag) {
        user->tag = 0;
        if (event.status.code == BELAY_TIMEOUT || event.status.code == BELAY_CANCELLED) {
          service_.gave_up(user->name);
        }
        if (event.hold != 0 && event.status.ok()) {
          user->holds.push_back(event.hold);
          grants_[{process.number(), event.hold}] = {world_.now(), event.fence, user->timed,
                                                     user->name};
        }
        const bool lingers = event.status.ok() && world_.chance(20);
        act_in(*user, lingers ? world_.span(plan_.hold.low, plan_.longest_hold) : in(plan_.hold));
      }
    }
  }

  void lost_in_calm(const Process& process, const Event& event) {
    const Grant& grant = grants_.at({process.number(), event.hold});
    if (event.kind == BELAY_EVENT_AT_RISK && world_.slipped()) {
      return;  // a renewal seems to have been out for longer than it was
    }
    if (!grant.timed) {
      service_.lost(grant.name, event.status.message, grant.at);
    } else if (event.kind == BELAY_EVENT_LOST) {
      service_.ended(checks_.longest_delay());
    }
  }

  void look_at_service() {
    if (!plan_.steady || calm_) {
      return;
    }
    for (const std::string& name : names_) {
      if (name == kSemaphore) {
        continue;  // that somebody holds one permit says nothing of the others
      }
      Micros since = kNever;
      for (const auto& user : users_) {
        if (user->tag != 0 && user->name == name && user->process->alive() &&
            !user->process->paused()) {
          since = std::min(since, std::max(user->asked_at, user->process->able_since()));
        }
      }
      service_.look(name, since, std::max(checks_.believed_until(name), handed_until(name)));
    }
  }

  // A waiter that is stopped keeps what it was handed for its grant lease, which follows the round
  // trips that it has seen: those with a stop of its own, too.
  Micros handed_until(const std::string& name) {
    Micros until = 0;
    for (const auto& process : processes_) {
      const Micros expires = process->paused() ? custody_.expires(name, process->number()) : 0;
      const Micros left = expires - world_.server_time(world_.host_of(key_of("belay:", 'r', name)));
      if (expires > 0 && left <= max_grant(plan_.timeout)) {
        until = std::max(until, world_.now() + left + left / 100);
      }
    }
    return until;
  }

  bool holds_something(const Process& process) {
    return std::any_of(
               names_.begin(), names_.end(),
               [&](const std::string& name) { return custody_.holds(name, process.number()); }) ||
           std::any_of(users_.begin(), users_.end(), [&](const auto& user) {
             return user->process == &process && !user->holds.empty();
           });
  }

  // What is on its way to the server may be granted there at once, for a whole lease.
  bool asks_just_now(const Process& process) const {
    return std::any_of(users_.begin(), users_.end(), [&](const auto& user) {
      return user->process == &process && user->tag != 0 &&
             world_.now() - user->asked_at < 2 * plan_.longest_delay;
    });
  }

  bool asks_for_something(const Process& process) const {
    return std::any_of(users_.begin(), users_.end(), [&](const auto& user) {
      return user->process == &process && user->tag != 0;
    });
  }

  // What a process had asked for, and perhaps given up, may be granted after it was killed or
  // stopped: by a command of its own that was on its way, and no leave follows any more.
  void look_for_late_grants(int process) {
    const bool stopped = std::any_of(
        processes_.begin(), processes_.end(),
        [process](const auto& one) { return one->number() == process && one->paused(); });
    if (!stopped && !killed_.contains(process)) {
      return;
    }
    for (const std::string& name : names_) {
      if (custody_.holds(name, process) && granted_late_.emplace(process, name).second) {
        service_.granted_late(name);
      }
    }
  }

  // ---- What goes wrong

  Process* anybody() {
    std::vector<Process*> awake;
    for (const auto& process : processes_) {
      if (process->alive() && !process->paused()) {
        awake.push_back(process.get());
      }
    }
    return awake.empty() ? nullptr
                         : awake[static_cast<std::size_t>(world_.random().between(
                               0, static_cast<std::int64_t>(awake.size()) - 1))];
  }

  void fault() {
    if (!world_.decide()) {
      return;
    }
    const Faults& faults = plan_.faults;
    std::vector<void (Schedule::*)()> possible;
    const auto add = [&possible](bool on, void (Schedule::*what)()) {
      if (on) {
        possible.push_back(what);
      }
    };
    add(faults.cuts, &Schedule::cut_somebody);
    add(faults.pauses, &Schedule::pause_somebody);
    add(faults.stops, &Schedule::stop_somebody);
    add(faults.crashes, &Schedule::kill_somebody);
    add(faults.server_stops, &Schedule::stop_server);
    add(faults.server_restarts || faults.data_loss, &Schedule::restart_server);
    add(faults.data_loss, &Schedule::wipe_server);
    add(faults.data_loss, &Schedule::evict_a_key);
    add(faults.failovers || plan_.cluster, &Schedule::fail_over);
    add(faults.shutdowns, &Schedule::shut_somebody_down);
    add(plan_.rows, &Schedule::end_a_holder);
    add(plan_.broken, &Schedule::break_a_name);
    add((faults.clock_back || faults.clock_forward) && replicas_ == nullptr, &Schedule::step_clock);
    add(faults.script_flushes, &Schedule::flush_scripts);
    add(plan_.cluster, &Schedule::move_a_slot);
    if (!possible.empty()) {
      (this->*possible[static_cast<std::size_t>(
                  world_.random().between(0, static_cast<std::int64_t>(possible.size()) - 1))])();
    }
  }

  void forge() {
    if (calm_) {
      return;
    }
    if (world_.decide()) {
      forger_->forge(static_cast<std::int64_t>(processes_.size()));
    }
    world_.at(world_.now() + in(plan_.between_forged), [this] { forge(); });
  }

  void cut_somebody() {
    if (Process* process = anybody(); process != nullptr) {
      service_.cut();
      const bool told = plan_.steady || !world_.chance(25);  // first, as compilers differ in that
      process->cut(world_.chance(60), told);
      for (const auto& user : users_) {  // who is cut off often gives up
        if (user->process == process && user->tag != 0 && world_.chance(40) && world_.decide()) {
          world_.at(world_.now() + world_.span(kMillisecond, 300 * kMillisecond),
                    [this, who = user.get(), tag = user->tag] { cancel(*who, tag); });
        }
      }
    }
  }

  void break_a_name() {
    if (Process* process = anybody(); process != nullptr) {
      break_name(*process, names_[static_cast<std::size_t>(world_.random().between(
                               0, static_cast<std::int64_t>(names_.size()) - 1))]);
    }
  }

  void pause_somebody() {
    if (Process* process = anybody(); process != nullptr) {
      const bool as_a_grant = world_.chance(50);  // as long as one lasts, more or less
      const Micros duration =
          as_a_grant ? world_.span(60 * kMillisecond, 300 * kMillisecond) : in(plan_.pause);
      service_.paused(duration, holds_something(*process) || asks_just_now(*process),
                      checks_.longest_delay());
      process->pause(duration);
      look_at_service();
    }
  }

  // A waiter, if there is one; for so long that those behind it must get what they want without it.
  void stop_somebody() {
    Process* process = anybody();
    for (int i = 0; process != nullptr && !asks_for_something(*process) && i < 3; ++i) {
      process = anybody();
    }
    if (process != nullptr) {
      process->pause(2 * quiet_bound() + plan_.calm_at - world_.now());
    }
  }

  void kill_somebody() {
    if (Process* process = anybody(); process != nullptr && processes_.size() < 9) {
      service_.crashed(holds_something(*process), checks_.longest_delay());
      process->crash();
      killed_.insert(process->number());
      checks_.crashed(*process);
      add_process(0);
      look_at_service();
    }
  }

  // A holder lets go and ends, while others who wait have been stopped: some, and never all.
  void end_a_holder() {
    const auto holder = std::find_if(users_.begin(), users_.end(), [](const auto& user) {
      return !user->holds.empty() && user->process->alive() && !user->process->paused();
    });
    if (world_.now() < next_row_at_ || holder == users_.end() || processes_.size() >= 9) {
      return;
    }
    std::vector<Process*> waiters;
    for (const auto& user : users_) {
      const bool waits = user->tag != 0 && user->name == (*holder)->name &&
                         user->process->alive() && !holds_something(*user->process) &&
                         !asks_just_now(*user->process);
      if (waits && std::find(waiters.begin(), waiters.end(), user->process) == waiters.end()) {
        waiters.push_back(user->process);
      }
    }
    if (waiters.size() < 2) {
      return;
    }
    waiters.erase(waiters.begin() +
                  world_.random().between(0, static_cast<std::int64_t>(waiters.size()) - 1));
    const Micros duration = world_.random().between(20, 40) * kSecond;
    for (Process* waiter : waiters) {
      service_.paused(duration, false, checks_.longest_delay());
      waiter->pause(duration);
    }
    next_row_at_ = world_.now() + duration + 10 * kSecond;
    if (world_.chance(50)) {
      release(**holder, (*holder)->holds.back());
    }
    world_.at(world_.now() + world_.span(1, 100 * kMillisecond),
              [this, process = (*holder)->process] { shut_down(*process); });
  }

  void stop_server() {
    const Micros duration = world_.span(kMillisecond, plan_.longest_stop);
    world_.stop_server(world_.some_host(), duration);
  }

  void restart_server() {
    const std::size_t host = world_.some_host();
    if (!world_.server_stopped(host)) {
      world_.restart_server(host, !plan_.faults.data_loss);
    }
  }

  void wipe_server() {
    const std::size_t host = world_.some_host();
    world_.lose_data(host);
    run_by_hand(host, {"FLUSHALL"});
  }

  // Or somebody deletes it.
  void evict_a_key() {
    const std::int64_t kind = world_.random().between(0, 3);
    const std::string record = key_of("belay:", 'r', names_.front());
    world_.lose_data(world_.host_of(record));
    delete_key(kind == 0   ? fence_key_of("belay:", slot_of(record))
               : kind == 1 ? key_of("belay:", 'w', names_.front())
               : kind == 2 ? key_of("belay:", 'm', names_.front())
                           : record);
  }

  void delete_key(const std::string& key) { run_by_hand(world_.host_of(key), {"DEL", key}); }

  void run_by_hand(std::size_t host, const std::vector<std::string>& argv) {
    world_.trace(argv.front() + (argv.size() > 1 ? " " + argv.back() : ""));
    Server& server = world_.server(host);
    checks_.wiped(host, argv.size() > 1 ? argv.back() : "");
    const int connection = server.connect([](std::string_view) {});
    if (plan_.cluster) {
      static_cast<void>(server.execute(connection, {"ASKING"}));
    }
    static_cast<void>(server.execute(connection, argv));
    server.disconnect(connection);
  }

  void fail_over() {
    if (replicas_ != nullptr && world_.chance(20)) {
      replicas_->lie();
      return;
    }
    if (replicas_ != nullptr) {
      replicas_->fail_over();
      return;
    }
    if (standby_ != nullptr) {
      standby_->take_over(plan_.faults.failovers && !world_.chance(20));
      return;
    }
    const Micros lag = world_.span(kMillisecond, 100 * kMillisecond);
    world_.fail_over(world_.some_host(), lag);
  }

  // In order: it lets go of everything, and ends when it has said so.
  void shut_somebody_down() {
    Process* process = anybody();
    if (process == nullptr || processes_.size() >= 9) {
      return;
    }
    service_.cut();
    shut_down(*process);
  }

  void shut_down(Process& process) {
    world_.trace("process " + std::to_string(process.number()) + " shuts down");
    process.call([](Engine& engine, Micros now) { static_cast<void>(engine.shutdown(now)); });
    for (const auto& user : users_) {
      if (user->process == &process) {
        for (const std::int64_t hold : std::exchange(user->holds, {})) {
          checks_.must_be_lost(process, hold);
          checks_.given_up(process, hold);
        }
      }
    }
    add_process(0);
  }

  void step_clock() {
    const Micros by = in(plan_.clock_step);
    const bool back = plan_.faults.clock_back && (!plan_.faults.clock_forward || world_.chance(50));
    if (back && went_back_ + by > kMostBack) {
      return;
    }
    went_back_ += back ? by : 0;
    world_.trace(std::string("the server's clock steps ") + (back ? "back" : "forward") + " by " +
                 std::to_string(by / 1000) + " ms");
    world_.step_clock(world_.some_host(), back ? -by : by);
  }

  void move_a_slot() {
    const auto last = static_cast<std::int64_t>(names_.size()) - 1;
    const std::string& name = names_[static_cast<std::size_t>(world_.random().between(0, last))];
    const std::string record = key_of("belay:", 'r', name);
    world_.move_slot(slot_of(record), standby_->another_master(world_.host_of(record)),
                     world_.span(kMillisecond, 500 * kMillisecond));
  }

  void flush_scripts() {
    world_.trace("SCRIPT FLUSH");
    world_.server(world_.some_host()).flush_scripts();
  }

  // They would go on asking sentinels until the end.
  void end_the_idle() {
    for (const auto& process : processes_) {
      if (process->idle()) {
        process->crash();
      }
    }
  }

  // ---- P1: once it has asked the new master, nobody believes what this does not know.

  void watch_losses() {
    if (replicas_ == nullptr || plan_.faults.errors || plan_.faults.breaks ||
        world_.is_down(world_.replication()->master)) {
      return;
    }
    // A message that was slow in the storm is waited for by those behind it.
    const Micros calm_since = plan_.calm_at + 2 * World::kSeldomLonger * plan_.longest_delay;
    const Micros answered = world_.now() - 2 * plan_.longest_delay - kMillisecond;
    const Micros runs_since = world_.runs_since(world_.replication()->master);
    for (const auto& process : processes_) {
      const bool asked = process->alive() && !process->paused() && process->up_since() != kNever &&
                         std::max({process->up_since(), process->able_since(), runs_since,
                                   calm_since}) <= answered &&
                         world_.data_lost() < process->up_since();
      for (const std::string& name : names_) {
        if (asked && checks_.believes(process->number(), name) &&
            !custody_.holds(name, process->number())) {
          world_.violation("P1: process " + std::to_string(process->number()) + " believes that " +
                           "it holds '" + name + "', which the new master does not know");
        }
      }
    }
    if (world_.now() < plan_.drain_at + kSecond) {
      world_.at(world_.now() + 5 * kMillisecond, [this] { watch_losses(); });
    }
  }

  // ---- P3: from when the faults have ended, nobody waits for long while nobody holds.

  void watch_progress() {
    for (const std::string& name : names_) {
      const bool wanted = std::any_of(users_.begin(), users_.end(), [&](const auto& user) {
        return user->tag != 0 && could_have(*user, name) && user->process->alive() &&
               !user->process->paused();
      });
      Micros& since = idle_since_[name];
      if (!wanted || checks_.believed_until(name) > world_.now() || since == 0) {
        since = world_.now();
      } else if (world_.now() - since > quiet_bound()) {
        world_.violation("P3: nobody got '" + name + "' for " +
                         std::to_string((world_.now() - since) / 1000) + " ms");
      }
    }
    if (!draining_ || anybody_waits()) {
      world_.at(world_.now() + 50 * kMillisecond, [this] { watch_progress(); });
    }
  }

  // Whether a user waits for the name, and for no other that somebody holds.
  bool could_have(const User& user, const std::string& name) const {
    if (user.names.empty()) {
      return user.name == name;
    }
    return std::find(user.names.begin(), user.names.end(), name) != user.names.end() &&
           std::none_of(user.names.begin(), user.names.end(), [this](const std::string& other) {
             return checks_.believed_until(other) > world_.now();
           });
  }

  bool anybody_waits() const {
    return std::any_of(users_.begin(), users_.end(),
                       [](const auto& user) { return user->tag != 0 && user->process->alive(); });
  }

  struct Grant {
    Micros at = 0;
    std::int64_t fence = 0;
    bool timed = false;  // its time may be up
    std::string name;    // the first
  };

  Random chooser_;
  const Plan plan_;
  World world_;
  Custody custody_;
  Limits limits_;
  Checks checks_;
  Doubts doubts_;
  Releases releases_;
  Rounds rounds_;
  Writes writes_;
  Service service_;
  std::unique_ptr<Forger> forger_;
  std::unique_ptr<Replicas> replicas_;
  std::unique_ptr<Standby> standby_;  // in a cluster
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<User>> users_;
  std::map<std::string, Micros> idle_since_;
  std::int64_t last_tag_ = 0;
  std::map<std::pair<int, std::int64_t>, Grant> grants_;
  std::set<int> abandoners_;  // shut down, they forget what they have abandoned
  std::set<int> killed_;
  std::set<std::pair<int, std::string>> granted_late_;  // after they were killed
  Micros next_row_at_ = 0;
  Micros went_back_ = 0;  // the server's clock, in all
  bool calm_ = false;     // no more faults
  bool draining_ = false;
};

}  // namespace

Outcome run_schedule(std::uint64_t seed, bool verbose, Decisions* decisions) {
  Schedule schedule(seed, verbose, decisions);
  return schedule.run();
}

}  // namespace belay::sim
