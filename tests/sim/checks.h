// What must be true at every step of a simulation. It hears of submissions, events and steps, and
// notes the first violation. The promises are those of docs/guarantees.md. One thread; the schedule
// owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/custody.h"
#include "sim/limits.h"
#include "sim/process.h"

namespace belay::sim {

class Checks {
 public:
  Checks(World& world, const Faults& faults, const Custody& custody, const Limits& limits,
         Micros watchdog_lease)
      : world_(world),
        faults_(faults),
        custody_(custody),
        limits_(limits),
        watchdog_lease_(watchdog_lease) {}

  // An acquire was accepted.
  void accepted(Process& process, std::int64_t tag, const AcquireRequest& request);

  // Another submission was.
  void accepted(Process& process, std::int64_t tag) { pending_[{process.number(), tag}] = {}; }

  // Readers may have it beside the hold from now on.
  void shared(Process& process, std::int64_t hold);

  // It was not, after all.
  void refused(Process& process, std::int64_t tag) { pending_.erase({process.number(), tag}); }

  // A message came.
  void on_message(const Process& process, const Message& message);
  // An event came.
  void on_event(Process& process, const Event& event);
  // The application gave a hold back, or let it go.
  void given_up(Process& process, std::int64_t hold);
  // It has shut down: whoever holds something was told that it is lost.
  void must_be_lost(const Process& process, std::int64_t hold);
  // A name was broken: for a while two may believe that they hold it.
  void broken(const std::string& name);
  // A key is deleted by hand; none: all.
  void wiped(std::size_t host, const std::string& key);
  // A process hears that a watched key has changed; none: that all data were wiped. The server
  // wrote so then.
  void on_invalidated(const Process& process, std::size_t host, std::string_view key,
                      Micros written);
  // A process's command has run on the server.
  void after_script(Server::Args argv);
  void after_step(Process& process);
  void crashed(Process& process);
  // It has shut down: nothing may be pending any more.
  void ended(Process& process);

  // Whether a process has a hold of the name that it has not given back.
  bool holds(int process, const std::string& name) const;
  // Whether it believes now that it holds the name.
  bool believes(int process, const std::string& name) const;
  // Until when somebody believes to hold the name, or nobody is to, if nothing happens; 0: nobody
  // does.
  Micros believed_until(const std::string& name) const;
  // The longest lock-delay that anybody has asked for.
  Micros longest_delay() const;
  // Nothing may be left when everything has ended.
  void at_end(const std::vector<std::unique_ptr<Process>>& processes);

  std::uint64_t grants() const { return grants_; }

 private:
  struct Submission {
    Kind kind = Kind::kLock;
    std::string name;
    std::int64_t owner = 0;
    Want want;
    Micros lease = 0;  // fixed
    Micros max_hold = 0;
    Micros asked_at = 0;
    std::int64_t fence_floor = 0;  // delivered before it was submitted
    std::set<std::string> groups_of_floor;
    bool of_a_set = false;
    bool floor_is_its_owners = false;  // who had that fence then, as far as is known

    // Whether the set may have the name under this fence, the latest and its owner's, as a part.
    bool may_have(std::int64_t fence) const {
      return of_a_set && (fence > fence_floor || floor_is_its_owners);
    }
  };

  struct Live {
    Kind kind = Kind::kLock;
    std::string name;
    std::int64_t owner = 0;
    Want want;
    Micros asked_at = 0;
    std::int64_t fence = 0;
    Micros believed_until = 0;  // true time
    bool lost = false;
    Micros lease = 0;  // fixed
    Micros max_hold = 0;
    bool of_a_set = false;
    Micros granted_at = 0;
    bool at_risk = false;
    Micros warned_until = 0;  // until when it was believed to be held when it came to be at risk
  };

  using Key = std::pair<int, std::int64_t>;  // process, tag or hold

  void on_acquired(Process& process, const Event& event, std::int64_t fence,
                   const Submission& submission);
  void check_fence(Process& process, std::int64_t fence, const Submission& submission);
  bool stands(int process, const Submission& submission, std::int64_t fence) const;
  bool is_a_part(int process, const Submission& submission, std::int64_t fence) const;
  bool re_enters_alone(int process, const Submission& submission, std::int64_t fence) const;
  bool any_pending(int process, const std::function<bool(const Submission&)>& is_so) const;
  bool of_old_tenure(int process, const Submission& submission, std::int64_t fence) const;

  struct Break {
    Micros until = 0;             // two may believe
    Micros at = 0;                // of the server's clock
    std::int64_t last_fence = 0;  // that any grant before it may have
  };

  void on_risk(Process& process, const Event& event);
  void check_risk(const Key& key, const Live& live, const Engine::HoldView& view);
  void check_loss(const Key& key, const Live& live);
  void check_exclusion(const Key& key, const Live& live);
  void check_limit(const std::string& semaphore);
  void begin_lock_delay(const Live& live);
  void check_rest(Server& server);
  bool exclusion_applies(const std::string& name) const;
  bool granted_since_all_was_lost(const Live& live) const;

  World& world_;
  const Faults faults_;
  const Custody& custody_;
  const Limits& limits_;
  const Micros watchdog_lease_;
  std::map<Key, std::vector<Submission>> pending_;  // for each name
  std::multimap<Key, Live> live_;                   // for each name
  std::map<std::string, std::int64_t> highest_fence_;
  std::map<std::string, std::set<std::string>> groups_;        // told of under that fence
  std::map<std::string, std::pair<int, std::int64_t>> owner_;  // process and owner, of that fence
  std::map<std::string, Micros> not_before_;     // the end of a lock-delay, at the soonest
  std::map<std::string, Micros> delayed_until_;  // and at the latest
  std::map<std::string, Micros> longest_delay_;  // that was asked for
  // The fence that a process was told of last, and which owner.
  std::map<std::pair<int, std::string>, std::pair<std::int64_t, std::int64_t>> told_;
  std::map<std::string, Break> breaks_;  // the latest
  // That a process has been told of: the latest, of the server's clock.
  std::map<std::pair<int, std::string>, Micros> known_breaks_;
  // When a key of a server, or all of them (""), was deleted, by its clock; and the latest time
  // that a process was told of.
  using HostKey = std::pair<std::size_t, std::string>;
  std::map<HostKey, std::map<Micros, Micros>> wipes_;  // server times, by true time
  std::map<std::pair<int, HostKey>, Micros> known_wipes_;
  std::uint64_t grants_ = 0;
};

}  // namespace belay::sim
