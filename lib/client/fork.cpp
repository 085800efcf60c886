#include "client/fork.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <new>

namespace belay {

namespace {

using Generation = std::atomic<std::uint32_t>;

Generation plain{0};
// 0 in a child that has not looked yet: where the kernel can, it wipes the page, so that also a
// child of _Fork() or clone() notices, which run no handlers.
Generation* current = &plain;
Generation latest{0};
// Where the kernel cannot: whose generation it is.
std::atomic<pid_t> owner{0};
bool wiped = false;
pthread_once_t once = PTHREAD_ONCE_INIT;

void watch() {
  const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED && madvise(page, size, MADV_WIPEONFORK) == 0) {
    wiped = true;
    current = new (page) Generation(0);
    return;
  }
  if (page != MAP_FAILED) {
    munmap(page, size);
  }
  owner = getpid();
  pthread_atfork(nullptr, nullptr, [] { current->store(0, std::memory_order_relaxed); });
}

}  // namespace

void watch_forks() {
  pthread_once(&once, watch);
}

std::uint32_t fork_generation() {
  if (!wiped) {
    if (const pid_t self = getpid(); owner.exchange(self, std::memory_order_relaxed) != self) {
      current->store(0, std::memory_order_relaxed);
    }
  }
  std::uint32_t generation = current->load(std::memory_order_relaxed);
  if (generation == 0) {
    const std::uint32_t fresh = latest.fetch_add(1, std::memory_order_relaxed) + 1;
    generation = current->compare_exchange_strong(generation, fresh) ? fresh : generation;
  }
  return generation;
}

}  // namespace belay
