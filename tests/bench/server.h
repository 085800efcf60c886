// The server that is measured, which saves its data only when told to; and what it tells of itself:
// its commands' statistics and its CPU time. Owned by main; used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/server_process.h"

namespace belay::bench {

// Says why on stderr and ends the process: a benchmark that cannot measure has nothing to report.
[[noreturn]] void give_up(const std::string& why);

struct CommandStat {
  std::int64_t calls = 0;
  std::int64_t usec = 0;
};

class Server {
 public:
  // `program`: redis-server, valkey-server or a path to one.
  explicit Server(std::string program) : program_(std::move(program)) {}

  int port() const { return process_.port(); }

  const std::string& program() const { return program_; }

  std::string url() const { return process_.url(); }

  std::string version();

  // INFO commandstats: by command name in small letters, commands inside scripts included.
  std::map<std::string, CommandStat> command_stats();

  // Counts the commands of clients while `work` lasts: a script is one, whatever it calls.
  std::int64_t count_commands(const std::function<void()>& work);

  // CPU time of the server's main thread so far.
  std::int64_t cpu_ns() const;

  // Sends one command, which must succeed.
  void tell(const std::vector<std::string>& words);
  // Has it speak TLS on a port of its own, until its end; where, and whom to trust.
  std::string tls_url();
  // Ends it as a crash would, and starts it again on its port, with what it had or without.
  void restart(bool with_data);

 private:
  std::string info(const char* section);

  const std::string program_;
  test::ServerProcess process_{program_};
  test::Redis observer_ = process_.connect();
};

}  // namespace belay::bench
