// The server that is measured: a child process on a free port of the loopback, in a directory of
// its own, which saves its data only when told to, and dies with us. And what it tells of itself:
// its commands' statistics and its CPU time. Owned by main; used by one thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct redisContext;

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
  static std::unique_ptr<Server> start(const std::string& program);

  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const { return port_; }

  const std::string& program() const { return program_; }

  std::string url() const;
  std::string version() const;

  // INFO commandstats: by command name in small letters, commands inside scripts included.
  std::map<std::string, CommandStat> command_stats() const;

  // CPU time of the server's main thread so far.
  std::int64_t cpu_ns() const;

  // Sends one command, which must succeed.
  void tell(const std::vector<std::string>& words) const;
  // Ends it as a crash would, and starts it again on its port, with what it had or without.
  void restart(bool with_data);

 private:
  Server(std::string program, std::string directory)
      : program_(std::move(program)), directory_(std::move(directory)) {}

  bool run(std::string* log_text);
  void end(int signal);
  std::string info(const char* section) const;

  const std::string program_;
  const std::string directory_;
  pid_t pid_ = 0;
  int port_ = 0;
  redisContext* observer_ = nullptr;
};

}  // namespace belay::bench
