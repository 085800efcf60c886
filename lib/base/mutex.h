// std::mutex and its lock with the annotations that the standard library's lack. Any thread.
#pragma once

#include <mutex>

#include "base/thread_annotations.h"

namespace belay {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }

  bool try_lock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }

  void unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class MutexLock;

  std::mutex mutex_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : lock_(mutex.mutex_) {}

  ~MutexLock() RELEASE() {}  // NOLINT(modernize-use-equals-default): it has an annotation

  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() ACQUIRE() { lock_.lock(); }

  void unlock() RELEASE() { lock_.unlock(); }

  // For waits on a condition.
  std::unique_lock<std::mutex>& native() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace belay
