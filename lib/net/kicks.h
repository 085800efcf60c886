// Descriptors by which one thread ends another one's poll: each is lent to whoever polls, and used
// again. So a client needs one for every thread that polls at the same time, and none for every
// connection. Any thread.
#pragma once

#include <vector>

#include "base/mutex.h"

namespace belay {

class Kicks {
 public:
  Kicks() = default;
  ~Kicks();
  Kicks(const Kicks&) = delete;
  Kicks& operator=(const Kicks&) = delete;

  // One that is readable from the first kick on; -1 where the system has none left.
  int lend();
  // Nobody kicks it any more, and nobody has since it was last forgotten.
  void take_back(int fd);

  static void kick(int fd);
  static void forget(int fd);

 private:
  Mutex mutex_;
  std::vector<int> free_ GUARDED_BY(mutex_);
};

}  // namespace belay
