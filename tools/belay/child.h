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
  int exit_code = 0;  // 0: there is a child
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

  // Start the command. Whether it could be executed is known once it has ended: waiting for that
  // here would wait for ever when ^Z stops the child before.
  StartError start(const Command& command, const Signals& signals);
  // Learn what SIGCHLD was about.
  void update();
  // Send a signal to the child or to its process group.
  void send(int signal) const;
  // Those of them that no signal of ours reaches, as they run as another user.
  [[nodiscard]] std::vector<pid_t> out_of_reach() const;

  [[nodiscard]] bool ended() const { return ended_; }

  [[nodiscard]] bool own_group() const { return own_group_; }

  // The signal that stopped the child; 0 while it runs.
  [[nodiscard]] int stopped_by() const { return stopped_by_; }

  // Of an ended child: its own code, 128 + the signal that ended it, or why it did not begin.
  [[nodiscard]] int exit_code() const { return exit_code_; }

  // "" where the command could be executed.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  void read_report();

  pid_t pid_ = -1;
  int report_fd_ = -1;  // carries errno where the command could not be executed
  bool own_group_ = false;
  bool ended_ = false;
  int stopped_by_ = 0;
  int exit_code_ = 0;
  std::string program_;
  std::string error_;
};

#endif
