// A server that the scripts run on: the simulated one, Redis, its oldest version or Valkey. Each is
// started when first asked for and lives until the program ends. One thread.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/resp.h"
#include "support/reply.h"

namespace belay::test {

struct Message {
  std::string channel;
  std::string payload;

  bool operator==(const Message&) const = default;
};

class Backend {
 public:
  enum class Kind { kSim, kRedis, kOldestRedis, kValkey };

  static Backend& get(Kind kind);

  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // Runs a command on the connection of the scripts.
  virtual Reply execute(const std::vector<std::string>& argv) = 0;
  // Runs a command on the connection that messages arrive at.
  virtual Reply execute_as_listener(const std::vector<std::string>& argv) = 0;
  // The push messages that have arrived there.
  virtual std::vector<Reply> take_pushes() = 0;

  // How it prints numbers. The simulated one can do either.
  virtual sim::Digits number_digits() = 0;

  virtual void set_number_digits(sim::Digits /*digits*/) {}

  // No keys, no limit of memory, nobody listens.
  void reset();
  void listen(const std::string& channel);
  void stop_listening(const std::string& channel);
  // The messages published since the last call, in their order.
  std::vector<Message> take_messages();

 private:
  std::set<std::string> channels_;
};

// The real ones that this machine can have: the oldest Redis is there for x86-64 only.
const std::vector<Backend::Kind>& real_backends();
std::vector<Backend::Kind> all_backends();
std::string name_of(Backend::Kind kind);
// What runs one of the real ones.
std::string program_of(Backend::Kind kind);
// All that stands on the server, a line a key, as text; without times to live.
std::string contents_of(Backend& backend);

}  // namespace belay::test
