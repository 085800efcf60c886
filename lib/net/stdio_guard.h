// Keeps descriptors of ours off 0, 1 and 2, where the host has closed these: what it writes to
// stderr would go to the server. While a guard lives, placeholders are there. Any thread; lives
// only while descriptors are made, as the host may want to open its own.
#pragma once

#include <sys/stat.h>

#include <array>
#include <functional>

namespace belay {

class StdioGuard {
 public:
  StdioGuard();
  ~StdioGuard();
  StdioGuard(const StdioGuard&) = delete;
  StdioGuard& operator=(const StdioGuard&) = delete;

  // False where the system has no descriptors to give; errno says why. Nothing may be made then.
  [[nodiscard]] bool made() const { return made_; }

  // Whether so many descriptors are free at this moment; if not, errno says why.
  [[nodiscard]] bool are_free(int count) const;

 private:
  struct stat placeholder_ {};  // what it looks like

  std::array<bool, 3> ours_{};
  bool made_ = false;
};

// A descriptor that `make` makes, above these three; -1 where there is none, and errno says why.
int above_stdio(const std::function<int()>& make);

}  // namespace belay
