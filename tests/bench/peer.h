// Other programs to be measured as sides. A program is a child with three arguments: the server's
// URL, a workload, and what its names begin with. It says `ready` when it has warmed up, or `none`
// and why, if it does not have the workload. Then it answers each line with a number of
// milliseconds, after working for so long, with a line of microseconds: how long it has worked, and
// what each of its steps took. It ends when its input does.
//
// The workload handoff has two processes of a program, handoff_first and handoff_second. Each tells
// the other with a byte on descriptor 4 that it has the lock, and reads that on descriptor 3 before
// it asks again. `h`: it has the lock, `e`: the first one ends. Their steps are three times by
// CLOCK_MONOTONIC: when it asked, had the lock and began to release it.
//
// The workload failover has two processes, too, which compete with holds of 20 ms and go on after
// any error. Their steps are those three times of each hold.
//
// Owned by a block; used by one thread.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "child.h"
#include "measure.h"

namespace belay::bench {

// When a process asked for the lock, had it and began to release it, in microseconds.
struct Turn {
  double asked;
  double had;
  double released;
};

class Peer {
 public:
  Peer(const Program& program, const std::string& url, const std::string& workload, Link link = {});

  // Waits until it is ready. Returns false if it does not have the workload.
  bool has_workload();

  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] pid_t pid() const { return child_.pid(); }

  void ask(double seconds) const;
  // How many microseconds it has worked, and its steps.
  std::vector<double> answer();

 private:
  const std::string name_;
  Child child_;
  std::string why_not_;
};

std::vector<Turn> turns_of(const std::vector<double>& answer);

// The programs of one side.
using Team = std::vector<std::unique_ptr<Peer>>;

// The plan's programs that have the workload: a process each, or two for handoff and failover.
class Peers {
 public:
  Peers(const Plan& plan, const std::string& url, const std::string& workload);

  [[nodiscard]] const std::vector<Team>& teams() const { return teams_; }

  [[nodiscard]] std::vector<Side> sides() const;

  struct Absence {
    std::string name;
    std::string why;
  };

  [[nodiscard]] const std::vector<Absence>& absent() const { return absent_; }

 private:
  std::vector<Team> teams_;
  std::vector<Absence> absent_;
};

}  // namespace belay::bench
