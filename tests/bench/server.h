// The server that is measured: a child process on a free port of the loopback, without persistence,
// which dies with us. And what it tells of itself: its commands' statistics and its CPU time.
// Owned by main; used by one thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

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

  std::string url() const;
  std::string version() const;

  // INFO commandstats: by command name in small letters, commands inside scripts included.
  std::map<std::string, CommandStat> command_stats() const;

  // CPU time of the server's main thread so far.
  std::int64_t cpu_ns() const;

 private:
  Server(pid_t pid, int port, redisContext* observer)
      : pid_(pid), port_(port), observer_(observer) {}

  std::string info(const char* section) const;

  pid_t pid_;
  int port_;
  redisContext* observer_;
};

}  // namespace belay::bench
