// A real redis-server or valkey-server as a child process, in a temporary directory of its own, on
// a unix socket and a free port of the loopback. It dies with the thread that made it. Owned by a
// test; one thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "support/redis.h"

namespace belay::test {

class ServerProcess {
 public:
  enum class Kind { kRedis, kOldestRedis, kValkey };  // kOldestRedis: 6.2

  struct Options {
    std::vector<std::string> args;  // as on the command line: "--maxmemory", "1mb"
    std::string password;
    // 0: a free one. A port that is named must be free.
    int port = 0;
  };

  // Returns when the server answers. One that cannot be started ends the test program: it says why
  // on stderr.
  explicit ServerProcess(Kind kind) : ServerProcess(kind, Options()) {}

  ServerProcess(Kind kind, Options options);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  // Kills the server and removes its directory.
  ~ServerProcess();

  [[nodiscard]] int port() const { return port_; }

  [[nodiscard]] pid_t pid() const { return pid_; }

  // Without the password.
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::string unix_url() const;

  [[nodiscard]] std::string socket_path() const { return directory_ + "/socket"; }

  // What the server wrote to its log.
  [[nodiscard]] std::string log() const;
  [[nodiscard]] Redis connect() const;

  // Stops it in mid-air (SIGSTOP) and lets it run on.
  void pause() const;
  void resume() const;
  // As in a crash: nothing is saved.
  void kill();
  // As an administrator would (SIGTERM): connections are closed by the server.
  void stop();
  // Ends it if it runs and starts it again, same port and socket. With `keep_data`, the data it had
  // when it was asked for this; a server that was killed has none.
  void restart(bool keep_data);

 private:
  bool start();
  void spawn();
  bool wait_until_ready();
  // Reaps the child if it has ended.
  bool ended();
  [[noreturn]] void give_up(const std::string& why) const;

  Kind kind_;
  Options options_;
  std::string program_;
  std::string directory_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace belay::test
