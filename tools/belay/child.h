// The command as a child process: start it, signal it, learn its fate. It dies by SIGKILL when
// belay dies first (PR_SET_PDEATHSIG), so that no killed belay leaves it running without the lock;
// that does not reach the child's own children, nor a set-user-id program.
#ifndef BELAY_TOOLS_CHILD_H
#define BELAY_TOOLS_CHILD_H

#include <sys/types.h>

#include <string>
#include <vector>

#include "signals.h"

struct Command {
  std::vector<std::string> arguments;    // the program first
  std::vector<std::string> environment;  // NAME=VALUE
  bool own_group = false;                // lead a process group, and be signalled as one
};

struct StartError {
  int exit_code = 0;  // 0: it runs
  std::string message;
};

class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child(Child&&) = delete;
  Child& operator=(Child&&) = delete;
  ~Child();

  // Start the command; returns when it is running or has failed to.
  StartError start(const Command& command, const Signals& signals);
  // Learn what SIGCHLD was about.
  void update();
  // Send a signal to the child or to its process group.
  void send(int signal) const;

  [[nodiscard]] bool ended() const { return ended_; }

  [[nodiscard]] bool own_group() const { return own_group_; }

  // The signal that stopped the child; 0 while it runs.
  [[nodiscard]] int stopped_by() const { return stopped_by_; }

  // The child's own code, or 128 + the signal that ended it.
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  pid_t pid_ = -1;
  bool own_group_ = false;
  bool ended_ = false;
  int stopped_by_ = 0;
  int exit_code_ = 0;
};

#endif
