// A program that the benchmark talks to by lines. It is killed if this process ends, and waited for
// when destroyed: it ends when its input does. Used by one thread.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>

namespace belay::bench {

// What a process inherits as descriptors 3 and 4; -1: nothing.
struct Link {
  int from = -1;
  int to = -1;
};

// The ends of a new pipe, which no program inherits unless told to.
Link make_pipe();

class Child {
 public:
  // The shell runs the command.
  explicit Child(std::string command, Link link = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

  void say(const std::string& line) const;
  // The next line. One that ends, or hangs for minutes, ends the benchmark.
  std::string hear();

 private:
  const std::string command_;
  pid_t pid_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

}  // namespace belay::bench
