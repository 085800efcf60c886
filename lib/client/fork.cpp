#include "client/fork.h"

#include <pthread.h>

#include <atomic>

namespace belay {

namespace {

std::atomic<std::uint32_t> generation{0};
pthread_once_t once = PTHREAD_ONCE_INIT;

}  // namespace

void watch_forks() {
  pthread_once(&once, [] {
    pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  });
}

std::uint32_t fork_generation() {
  return generation.load(std::memory_order_relaxed);
}

}  // namespace belay
