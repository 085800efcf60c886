// A life of a client: from its making to its end, which may come while others are using it.
// Blocking and asynchronous calls alike have an outcome; every accepted submission has exactly one
// event, unless its client was freed before.
#pragma once

#include <belay/belay.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "hammer/report.h"

namespace belay::hammer {

struct Outcome {
  bool gone = false;  // the client was freed before it could be told
  std::int32_t status = BELAY_OK;
  std::int64_t hold = 0;
  std::vector<std::int64_t> fences;
  std::int64_t permits = 0;
  std::int64_t generation = 0;
  std::string message;
};

// The same call in all its ways. `block` returns a status, or a value >= 0 where `values`; then
// minus a status.
struct Call {
  const char* what = "";
  std::function<std::int64_t(belay_client*, belay_event**)> block = {};
  std::function<std::int32_t(belay_client*, std::int64_t tag)> submit = {};
  bool values = false;
  std::function<belay_event*(belay_client*, std::int64_t tag, std::int64_t patience_ms)> within =
      {};  // if there is such a way
};

class Life {
 public:
  using OnLost = std::function<void(Life&, std::int64_t hold, const std::string& why)>;

  Life(const std::string& url, std::int64_t watchdog_lease_ms, Report& report, OnLost on_lost);
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;
  ~Life();

  Outcome block(const Call& call);
  // Cancels after `cancel_ms`, unless that is below 0.
  Outcome submit(const Call& call, std::int64_t cancel_ms);
  // Submits, and waits for the event for as long as its patience lasts; then as long as it takes.
  Outcome within(const Call& call, std::int64_t patience_ms);
  // 0: it is lost, or the client has ended.
  std::int64_t remaining_ms(std::int64_t hold);
  void abandon(std::int64_t hold);

  // Whether calls may answer that the client has ended.
  [[nodiscard]] bool closing() const { return closing_; }

  // From now on. Then it ends, once: by a shutdown, while calls are inside and others begin, or by
  // being freed at once.
  void announce_end() { closing_ = true; }

  void shut_down();
  void free_at_once();

 private:
  enum class Answer : std::uint8_t { kNone, kCame, kRead };

  struct Pending {
    Answer answer = Answer::kNone;
    Outcome outcome;
  };

  void pump();
  std::int64_t new_tag();
  void take(const belay_event* event);
  Outcome await(std::int64_t tag, const char* what);
  void free_handle();

  Report& report_;
  OnLost on_lost_;
  std::shared_mutex gate_;  // whoever calls shares it; whoever frees has it alone
  belay_client* handle_ = nullptr;
  std::atomic<bool> closing_{false};
  std::atomic<bool> shut_down_{false};
  std::atomic<bool> ending_{false};
  std::mutex answers_mutex_;
  std::condition_variable answer_came_;
  std::map<std::int64_t, Pending> pendings_;
  std::int64_t last_tag_ = 0;
  std::thread pump_;
};

}  // namespace belay::hammer
