// A server that answers as the input has it: the truth, the truth with something wrong in it,
// another command's answer, an error, another type, or what was never asked for. It only makes
// bytes; a session sends them. One thread; the session owns it.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "dialect/lock.h"
#include "fuzz/input.h"
#include "net/resp.h"

namespace belay::fuzz {

class HostileServer {
 public:
  using Argv = std::vector<std::string>;

  // `client`: whom it serves, with the secrets that its acquires tell.
  HostileServer(Input& input, Identity client)
      : input_(input), client_(std::move(client)), inbox_(client_.inbox().channel(0)) {}

  void set_time(Micros time) { time_ = time; }

  // What a server in its right mind answers.
  std::string truth(const Argv& command);
  // What this one does.
  std::string answer(const Argv& command);
  // A whole reply that nobody asked for.
  std::string stray();
  // A message that nobody asked for, about one of these records.
  std::string push(const std::vector<std::string>& records);

 private:
  std::string reply_of(const Argv& command, bool lie);
  std::string unmarked_reply_of(const Argv& command, bool lie);
  std::string packed_answer(const Argv& command, bool lie);
  std::string acquired(bool lie);
  std::string taken(const Argv& command, bool lie);
  std::string left(const Argv& command, bool lie);
  std::string awaited(bool lie);
  std::string renewed(const Argv& command, bool lie);
  std::string number(double truth, bool lie);
  std::string record(bool lie);
  std::string inspection(bool lie);
  std::string broken(bool lie);
  std::string late();
  void add_members(std::size_t count, bool lie, std::string* bytes);
  std::string hello(bool lie);
  std::string scan(bool lie);
  std::string message(const std::string& record);
  std::string long_record();
  std::string error();
  std::string other_type();
  std::string nested();

  Input& input_;
  const Identity client_;
  const std::string inbox_;
  Micros time_ = 0;
};

}  // namespace belay::fuzz
