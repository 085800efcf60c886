// A real server in a temporary directory of its own, on a unix socket and a free port of the
// loopback. It ends with this process. Owned by a test; one thread.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "support/launch.h"
#include "support/redis.h"

namespace belay::test {

class ServerProcess {
 public:
  // `program`: redis-server, valkey-server or a path to one. Returns when the server answers. One
  // that cannot be started ends the test program: why stands on stderr.
  explicit ServerProcess(const std::string& program, const std::vector<std::string>& options = {}) {
    std::vector<const char*> words{program.c_str()};
    for (const std::string& option : options) {
      words.push_back(option.c_str());
    }
    words.push_back(nullptr);
    if (!launch_start(&launch_, words.data())) {
      std::exit(1);
    }
  }

  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Kills the server and removes its directory.
  ~ServerProcess() { launch_end(&launch_); }

  [[nodiscard]] int port() const { return launch_.port; }

  [[nodiscard]] pid_t pid() const { return launch_.pid; }

  [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port()); }

  // Its own; a test may put files there.
  [[nodiscard]] std::string directory() const { return launch_.directory; }

  [[nodiscard]] Redis connect() const { return Redis::unix_socket(launch_.socket); }

  // Ends it as a crash would, and starts it again where it was, with what it has saved.
  void restart() {
    const char* const kill[] = {"kill", nullptr};
    const char* const start[] = {"start", nullptr};
    if (!launch_tell(&launch_, kill) || !launch_tell(&launch_, start)) {
      std::exit(1);
    }
  }

 private:
  Launch launch_;
};

}  // namespace belay::test
