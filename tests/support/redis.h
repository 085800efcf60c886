// A blocking RESP3 connection to a real server, for tests that look behind the library.
// Owned by a test; one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/reply.h"

struct redisContext;

namespace belay::test {

class Redis {
 public:
  // Connects at once and says HELLO 3. A connection that fails answers kNone to everything.
  static Redis unix_socket(const std::string& path);

  Redis(Redis&&) = default;
  Redis& operator=(Redis&&) = default;
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;
  ~Redis() = default;

  [[nodiscard]] bool connected() const;
  // Runs one command. SUBSCRIBE and UNSUBSCRIBE, also of a shard channel, answer with their push
  // message; of one channel.
  Reply command(const std::vector<std::string>& argv);
  // All push messages so far: those of each command that was answered before this call are among
  // them.
  std::vector<Reply> take_pushes();

 private:
  struct Free {
    void operator()(redisContext* context) const;
  };

  explicit Redis(redisContext* context);

  static void keep_push(void* pushes, void* reply);
  bool flush();
  Reply failure() const;
  Reply wait_for_push(const std::string& kind);

  std::unique_ptr<redisContext, Free> context_;
  std::unique_ptr<std::vector<Reply>> pushes_;  // hiredis holds its address
};

}  // namespace belay::test
