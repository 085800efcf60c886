// How many objects of a type the process has; part of each of them. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace belay {

template <typename Type>
class Live {
 public:
  Live() { count_.fetch_add(1, std::memory_order_relaxed); }

  ~Live() { count_.fetch_sub(1, std::memory_order_relaxed); }

  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  static std::int64_t count() { return count_.load(std::memory_order_relaxed); }

 private:
  static inline std::atomic<std::int64_t> count_{0};
};

}  // namespace belay
