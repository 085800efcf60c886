// Other programs to be measured as sides. A program is a child with three arguments: the server's
// port, a workload, and what its names begin with. It says `ready` when it has warmed up, or `none`
// and why, if it does not have the workload. Then it answers each line with a number of
// milliseconds, after working for so long, with a line of microseconds: how long it has worked, and
// what each of its steps took. It ends when its input does.
//
// The workload handoff has two processes of a program, handoff_first and handoff_second. Each tells
// the other with a byte on descriptor 4 that it has the lock, and reads that on descriptor 3 before
// it asks again. `h`: it has the lock, `e`: the first one ends. Their steps are three times by
// CLOCK_MONOTONIC: when it asked, had the lock and began to release it. Owned by a block; used by
// one thread.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "measure.h"

namespace belay::bench {

// What a process inherits as descriptors 3 and 4; -1: nothing.
struct Link {
  int from = -1;
  int to = -1;
};

class Peer {
 public:
  // The shell runs the program's command with the port, the workload and the prefix behind it.
  Peer(const Program& program, int port, const std::string& workload, Link link = {});
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Waits until it is ready. Returns false if it does not have the workload.
  bool has_workload();

  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  [[nodiscard]] const std::string& name() const { return program_.name; }

  [[nodiscard]] pid_t pid() const { return pid_; }

  void ask(double seconds);
  // How many microseconds it has worked, and its steps.
  std::vector<double> answer();

 private:
  std::string read_line();

  const Program program_;
  std::string why_not_;
  pid_t pid_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

// The plan's programs that have the workload, as sides: a process each, or two for handoff.
class Peers {
 public:
  Peers(const Plan& plan, const std::string& workload);

  [[nodiscard]] std::vector<Side> sides() const;

  struct Absence {
    std::string name;
    std::string why;
  };

  [[nodiscard]] const std::vector<Absence>& absent() const { return absent_; }

 private:
  using Team = std::vector<std::unique_ptr<Peer>>;

  std::vector<Team> teams_;
  std::vector<Absence> absent_;
};

}  // namespace belay::bench
