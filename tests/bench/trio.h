// A master with two replicas and three sentinels, which tests/support/trio.py starts. Owned by a
// block; used by the main thread.
#pragma once

#include <string>

#include "child.h"

namespace belay::bench {

class Trio {
 public:
  // `program`: redis-server, valkey-server or a path to one.
  explicit Trio(const std::string& program);

  [[nodiscard]] const std::string& url() const { return url_; }

  [[nodiscard]] int master_port() const { return master_port_; }

  void kill_master() { tell("kill"); }

  void ask_for_another_master() { tell("ask"); }

  // Waits until a sentinel names another master.
  void await_another_master() { tell("replace"); }

  // Starts the host that was killed, and waits until the master has two replicas.
  void restore() { tell("restore"); }

 private:
  void tell(const char* command);

  Child child_;
  std::string url_;
  int master_port_ = 0;
};

}  // namespace belay::bench
