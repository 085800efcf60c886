// The floors: what plain blocking hiredis takes for a lock without Belay, in two recipes. *Bare* is
// SET NX PX and compare-and-delete. *Fenced* has Belay's safety (owner's claim in the record, fence
// kept per slot, server time) in the leanest scripts, without a queue. One connection, used by one
// thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

struct redisContext;

namespace belay::bench {

enum class Recipe : std::uint8_t { kBare, kFenced };

class Floor {
 public:
  // What proves who holds: a client id and an epoch.
  using Claim = std::array<char, 30>;

  Floor(int port, Recipe recipe);
  ~Floor();
  Floor(const Floor&) = delete;
  Floor& operator=(const Floor&) = delete;

  Claim acquire(std::string_view name);
  void release(std::string_view name, const Claim& claim);
  // One round trip.
  void ping();

  // Pipelined: the replies come in the order of the commands.
  Claim append_acquire(std::string_view name);
  void append_release(std::string_view name, const Claim& claim);
  void expect_granted();
  void expect_released();

 private:
  std::string load(std::string_view script);
  void append(const std::string& sha1, std::string_view name, const Claim& claim, bool with_lease);
  Claim new_claim();

  redisContext* context_;
  const Recipe recipe_;
  std::string acquire_sha1_;
  std::string release_sha1_;
  std::string id_;
  std::int64_t epoch_ = 0;
  std::int64_t fence_ = 0;
};

// A plain connection, for whatever else is to be compared.
class Plain {
 public:
  explicit Plain(int port);
  ~Plain();
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;

  // Sends a command and waits for its answer; an error ends the benchmark.
  void command(const std::vector<std::string>& argv);

 private:
  redisContext* context_;
};

}  // namespace belay::bench
