// Another program to be measured beside Belay, as a side: a child that is given the server's port,
// answers each line with a number of milliseconds, after working for so long, with a line of what
// each of its steps took in microseconds, and ends when its input does. Owned by a block; used by
// one thread.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>

#include "measure.h"

namespace belay::bench {

class Peer {
 public:
  // `command`: for the shell; the port is put behind it.
  Peer(const std::string& command, int port);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  Slice run(double seconds);

  pid_t process() const { return pid_; }

 private:
  const std::string command_;
  pid_t pid_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

}  // namespace belay::bench
