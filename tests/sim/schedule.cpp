#include "sim/schedule.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/checks.h"
#include "sim/process.h"
#include "sim/world.h"

namespace belay::sim {

namespace {

constexpr Micros kLease = kSecond;
constexpr Micros kTimeout = 300 * kMillisecond;
constexpr Micros kQuietBound = 16 * kSecond;  // fallback polls of 6 s, a lease, grant leases
constexpr Micros kEndAfter = 200 * kSecond;   // a queue that nobody polls stands for 120 s

// Somebody in a process who wants locks: submits, waits for the event, holds, gives back, over and
// over.
struct User {
  Process* process = nullptr;
  std::int64_t owner = 0;
  std::string name;
  std::int64_t tag = 0;  // of the pending acquire
  std::vector<std::int64_t> holds;
};

Faults faults_of(Random& random) {
  const auto on = [&random](int percent) { return random.between(1, 100) <= percent; };
  Faults faults;
  faults.cuts = on(50);
  faults.lost_pushes = on(30);
  faults.pauses = on(50);
  faults.crashes = on(40);
  faults.server_stops = on(30);
  faults.server_restarts = on(20);
  faults.data_loss = on(20);
  faults.clock_back = on(20);
  faults.clock_forward = on(15);
  faults.script_flushes = on(20);
  faults.no_kill = on(30);
  return faults;
}

class Schedule {
 public:
  Schedule(std::uint64_t seed, bool verbose, Decisions* decisions)
      : chooser_(seed * 7919 + 13),
        faults_(faults_of(chooser_)),
        world_(chooser_.next(), faults_, longest_delay(chooser_), decisions),
        checks_(world_, faults_) {
    world_.set_verbose(verbose);
    names_ = {"a"};
    if (world_.chance(30)) {
      names_.emplace_back("{b}c");
    }
    const std::int64_t processes = world_.random().between(2, 4);
    for (std::int64_t i = 0; i < processes; ++i) {
      add_process();
    }
  }

  Outcome run() {
    const Micros calm_at = world_.random().between(1500 * kMillisecond, 5 * kSecond);
    for (Micros at = world_.span(kMillisecond, 400 * kMillisecond); at < calm_at;
         at += world_.span(kMillisecond, 800 * kMillisecond)) {
      world_.at(at, [this] { fault(); });
    }
    const Micros drain_at = calm_at + 4 * kSecond;
    world_.at(calm_at, [this] {
      world_.trace("--- faults are over");
      world_.calm();
      watch_progress();
    });
    world_.at(drain_at, [this] {
      world_.trace("--- no new requests");
      draining_ = true;
    });
    if (!world_.run(drain_at + kEndAfter)) {
      world_.violation("livelock: too many events");
    }
    if (world_.violation().empty()) {
      checks_.at_end(processes_);
    }
    world_.set_verbose(false);  // what follows is cleaning up
    return {world_.violation(), world_.events(), checks_.grants()};
  }

 private:
  static Micros longest_delay(Random& random) { return random.between(300, 20'000); }

  void add_process() {
    const int number = static_cast<int>(processes_.size());
    const Process::Observer observer{
        [this](Process& process, const Event& event) { on_event(process, event); },
        [this](Process& process) { checks_.after_step(process); }};
    processes_.push_back(std::make_unique<Process>(world_, number, observer, kLease, kTimeout));
    const std::int64_t users = world_.random().between(1, 3);
    for (std::int64_t i = 0; i < users; ++i) {
      auto user = std::make_unique<User>();
      user->process = processes_.back().get();
      user->owner = world_.chance(40) ? world_.random().between(1, 2) : 0;
      users_.push_back(std::move(user));
      act_in(*users_.back(), world_.span(100, 100 * kMillisecond));
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
        if (acquires) {
          acquire(user);
        } else {
          act_in(user, world_.span(kMillisecond, 100 * kMillisecond));
        }
      }
      return;
    }
    use_hold(user);
  }

  void acquire(User& user) {
    if (user.holds.empty()) {
      const auto last = static_cast<std::int64_t>(names_.size()) - 1;
      user.name = names_[static_cast<std::size_t>(world_.random().between(0, last))];
    }
    AcquireRequest request;
    request.primitive = &user.process->lock();
    request.name = user.name;
    request.owner = user.owner;
    request.notify = true;
    request.lease = world_.chance(30) ? world_.span(100 * kMillisecond, 900 * kMillisecond) : 0;
    request.max_hold = world_.chance(10) ? world_.span(100 * kMillisecond, 2 * kSecond) : 0;
    const std::int64_t kind = world_.random().between(1, 100);
    const Micros wait = kind <= 15 ? 0 : kind <= 40 ? world_.span(500, 800 * kMillisecond) : kNever;
    const std::int64_t tag = ++last_tag_;
    world_.trace("user of process " + std::to_string(user.process->number()) + " acquires '" +
                 user.name + "', tag " + std::to_string(tag));
    user.process->call([&](Engine& engine, Micros now) {
      user.tag = tag;
      checks_.accepted(*user.process, tag, request.name, request.owner);
      static_cast<void>(engine.acquire(tag, request, wait, now));
    });
    if (world_.chance(15) && world_.decide()) {
      world_.at(world_.now() + world_.span(200, 500 * kMillisecond),
                [this, &user, tag] { cancel(user, tag); });
    }
  }

  void cancel(User& user, std::int64_t tag) {
    if (user.tag == tag) {
      world_.trace("tag " + std::to_string(tag) + " is cancelled");
      user.process->call(
          [tag](Engine& engine, Micros now) { static_cast<void>(engine.cancel(tag, now)); });
    }
  }

  void use_hold(User& user) {
    const std::int64_t drawn = world_.random().between(1, 100);
    const std::int64_t dice = world_.decide() ? drawn : 100;
    const std::int64_t hold = user.holds.back();
    if (!draining_ && dice <= 10 && user.owner != 0) {
      acquire(user);  // re-enters
    } else if (dice <= 18) {
      ask_about(user, hold, dice % 2 == 0);
    } else if (!draining_ && dice <= 20) {
      force(user);
    } else if (dice <= 22) {
      give_up(user, [hold](Engine& engine, Micros now) { return engine.abandon(hold, now); });
    } else {
      release(user, hold);
    }
  }

  void ask_about(User& user, std::int64_t hold, bool extends) {
    const std::int64_t tag = ++last_tag_;
    user.process->call([&](Engine& engine, Micros now) {
      checks_.accepted(*user.process, tag);
      const Status status = extends ? engine.extend(tag, hold, 500 * kMillisecond, now)
                                    : engine.verify(tag, hold, now);
      if (!status.ok()) {
        checks_.refused(*user.process, tag);
      }
    });
    act_in(user, world_.span(200, 100 * kMillisecond));
  }

  void force(User& user) {
    const std::int64_t tag = ++last_tag_;
    world_.trace("tag " + std::to_string(tag) + " breaks '" + user.name + "'");
    checks_.broken(user.name);
    user.process->call([&](Engine& engine, Micros now) {
      checks_.accepted(*user.process, tag);
      static_cast<void>(engine.force(tag, user.name, 0, now));
    });
    act_in(user, world_.span(200, 100 * kMillisecond));
  }

  void release(User& user, std::int64_t hold) {
    const std::int64_t tag = ++last_tag_;
    world_.trace("process " + std::to_string(user.process->number()) + " releases hold " +
                 std::to_string(hold));
    const bool twice = world_.chance(10) && world_.decide();
    give_up(user, [this, &user, hold, tag, twice](Engine& engine, Micros now) {
      checks_.accepted(*user.process, tag);
      Status status = engine.release(tag, hold, now);
      if (twice && engine.release(tag + 1'000'000'000, hold, now).code != BELAY_UNKNOWN_HOLD) {
        world_.violation("a hold was released twice");
      }
      return status;
    });
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
    act_in(user, world_.span(100, world_.chance(30) ? kSecond : 50 * kMillisecond));
  }

  void on_event(Process& process, const Event& event) {
    if (world_.verbose()) {
      world_.trace("process " + std::to_string(process.number()) + ": event " +
                   std::to_string(event.kind) + " tag " + std::to_string(event.tag) + " " +
                   belay_status_name(event.status.code) + " hold " + std::to_string(event.hold) +
                   " fence " + std::to_string(event.fence) + " " + event.status.message);
    }
    checks_.on_event(process, event);
    if (event.kind != BELAY_EVENT_ACQUIRED) {
      return;
    }
    for (const auto& user : users_) {
      if (user->process == &process && user->tag == event.tag) {
        user->tag = 0;
        if (event.status.ok()) {
          user->holds.push_back(event.hold);
        }
        act_in(*user, world_.span(200, world_.chance(20) ? 2 * kSecond : 100 * kMillisecond));
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
    Process* process = anybody();
    const bool half = world_.chance(50);
    switch (world_.random().between(0, 9)) {
      case 0:
      case 1:
        if (faults_.cuts && process != nullptr) {
          process->cut(world_.chance(60), !world_.chance(25));
        }
        break;
      case 2:
      case 3:
        if (faults_.pauses && process != nullptr) {
          process->pause(world_.span(kMillisecond, 2500 * kMillisecond));
        }
        break;
      case 4:
        if (faults_.crashes && process != nullptr && processes_.size() < 9) {
          process->crash();
          checks_.crashed(*process);
          add_process();
        }
        break;
      case 5:
        if (faults_.server_stops) {
          world_.stop_server(world_.span(kMillisecond, 1500 * kMillisecond));
        }
        break;
      case 6:
        server_fault(half);
        break;
      case 7:
        if (faults_.clock_back) {
          world_.trace("the server's clock steps back");
          world_.step_clock(-world_.span(kMillisecond, 2 * kSecond));
        }
        break;
      case 8:
        if (faults_.clock_forward) {
          world_.trace("the server's clock steps forward");
          world_.step_clock(world_.span(kMillisecond, 2 * kSecond));
        }
        break;
      default:
        if (faults_.script_flushes) {
          world_.trace("SCRIPT FLUSH");
          world_.server().flush_scripts();
        }
        break;
    }
  }

  void server_fault(bool half) {
    if (faults_.data_loss && half) {
      world_.trace("FLUSHALL");
      const int connection = world_.server().connect([](std::string_view) {});
      static_cast<void>(world_.server().execute(connection, {"FLUSHALL"}));
      world_.server().disconnect(connection);
    } else if ((faults_.server_restarts || faults_.data_loss) && !world_.server_stopped()) {
      world_.restart_server(!faults_.data_loss);
    }
  }

  // ---- P3: from when the faults have ended, nobody waits for long while nobody holds.

  void watch_progress() {
    for (const std::string& name : names_) {
      const bool wanted = std::any_of(users_.begin(), users_.end(), [&](const auto& user) {
        return user->tag != 0 && user->name == name && user->process->alive() &&
               !user->process->paused();
      });
      Micros& since = idle_since_[name];
      if (!wanted || checks_.believed(name) || since == 0) {
        since = world_.now();
      } else if (world_.now() - since > kQuietBound) {
        world_.violation("P3: nobody got '" + name + "' for " +
                         std::to_string((world_.now() - since) / 1000) + " ms");
      }
    }
    if (!draining_ || anybody_waits()) {
      world_.at(world_.now() + 50 * kMillisecond, [this] { watch_progress(); });
    }
  }

  bool anybody_waits() const {
    return std::any_of(users_.begin(), users_.end(),
                       [](const auto& user) { return user->tag != 0 && user->process->alive(); });
  }

  Random chooser_;
  const Faults faults_;
  World world_;
  Checks checks_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<User>> users_;
  std::map<std::string, Micros> idle_since_;
  std::int64_t last_tag_ = 0;
  bool draining_ = false;
};

}  // namespace

Outcome run_schedule(std::uint64_t seed, bool verbose, Decisions* decisions) {
  Schedule schedule(seed, verbose, decisions);
  return schedule.run();
}

}  // namespace belay::sim
