// Another program to be measured beside Belay, as a side: a child that is given the server's port
// and a workload. It says `ready` when it has warmed up, or `none` if it does not have the
// workload. Then it answers each line with a number of milliseconds, after working for so long,
// with a line of microseconds: how long it has worked, and what each of its steps took. It ends
// when its input does. Owned by a block; used by one thread.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "measure.h"

namespace belay::bench {

class Peer {
 public:
  // The shell runs the program's command with the port and the workload behind it.
  Peer(Program program, int port, const std::string& workload);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Waits until it is ready. Returns false if it does not have the workload.
  bool has_workload();

  Side side();

 private:
  Slice run(double seconds);
  std::string read_line();

  const Program program_;
  pid_t pid_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

// The plan's programs that have the workload.
class Peers {
 public:
  Peers(const Plan& plan, const std::string& workload);

  void add_to(std::vector<Side>* sides) const;

 private:
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace belay::bench
