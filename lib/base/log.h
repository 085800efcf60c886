// One-line messages to stderr and as events, for whoever asked for them. Any thread queues a line,
// within a bound; the loop's thread writes it, outside the monitor. So a stderr that nobody reads
// delays nothing, and a SIGPIPE meets a thread that has it blocked. Owned by the client.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "base/mutex.h"
#include "belay/belay.h"

namespace belay {

// How a warning begins that is about the settings of a server.
inline constexpr const char* kOfSettings = "settings: ";
// And that a server answers, but takes no locks for now.
inline constexpr const char* kOfRefusal = "refused: ";

class Log {
 public:
  using Tell = std::function<void(std::int32_t level, const std::string& message)>;

  // `wake` is called after a line was queued: flush() is due. `tell` is called with each message of
  // level `told` and more severe ones. Any thread; also in the monitor.
  Log(std::int64_t level, std::function<void()> wake, std::int64_t told = BELAY_LOG_NONE,
      Tell tell = {});

  [[nodiscard]] bool enabled(std::int32_t level) const { return level <= level_ || level <= told_; }

  // Tells of a message and queues its line; where too many are queued it is dropped, and counted.
  void write(std::int32_t level, const std::string& message);

  // Writes what stderr takes without being waited for. False: it takes no more now. One thread,
  // which has SIGPIPE blocked.
  bool flush();

 private:
  struct Line {
    std::string text;
    std::int64_t dropped;  // lines before it
  };

  bool take(std::string* bytes);
  void drop_all();

  const std::int64_t level_;
  const std::function<void()> wake_;
  const std::int64_t told_;
  const Tell tell_;

  struct stat first_ {};  // what stderr was when the log was made

  std::string writing_;  // of the thread that flushes: what is left of a line

  Mutex mutex_;
  std::deque<Line> lines_ GUARDED_BY(mutex_);
  std::size_t size_ GUARDED_BY(mutex_) = 0;  // of lines_, in bytes
  std::int64_t dropped_ GUARDED_BY(mutex_) = 0;
};

}  // namespace belay
