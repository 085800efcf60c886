// What is measured: a client of Belay, through its public C API. An unexpected outcome ends the
// benchmark. Any thread.
#pragma once

#include <belay/belay.h>

#include <cstdint>
#include <string>
#include <vector>

namespace belay::bench {

class Request {
 public:
  explicit Request(const char* name, std::int64_t owner = 0);
  explicit Request(const std::vector<std::string>& names);
  ~Request();
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  belay_request* get() { return request_; }

  [[nodiscard]] std::int64_t owner() const { return owner_; }

 private:
  belay_request* request_;
  std::int64_t owner_ = 0;
};

class Target {
 public:
  explicit Target(const std::string& url);
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  std::int64_t lock(const char* name);
  std::int64_t acquire(Request& request);
  // A hold that was lost is counted: a machine that stands still for as long as a grant lasts loses
  // one.
  void release(std::int64_t hold);
  void release_nowait(std::int64_t hold);
  // Of all targets of this process.
  static std::int64_t lost();

  belay_client* get() { return client_; }

 private:
  belay_client* client_;
};

// A name that nobody has used before, by `prefix` and number.
std::string name_of(const char* prefix, std::int64_t number);

// Ends the benchmark unless `status` is OK.
void expect_ok(std::int32_t status, const char* what);

}  // namespace belay::bench
