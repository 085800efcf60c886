// What counting costs: no memory. Every allocation of this program by `new` is counted for that.
#include "engine/metrics.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "unit/parts.h"

namespace {

thread_local std::int64_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) {
    std::abort();
  }
  return memory;
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace belay {
namespace {

class MetricsAlone : public EngineParts {
 protected:
  template <typename Count>
  static std::int64_t allocated_by(Count count) {
    const std::int64_t before = allocations;
    count();
    return allocations - before;
  }
};

TEST_F(MetricsAlone, CostNoMemory) {
  EXPECT_EQ(allocated_by([] { EXPECT_NE(std::make_unique<std::int64_t>(1), nullptr); }), 1);
  EXPECT_EQ(allocated_by([this] {
              for (Micros duration = 1; duration < kMaxLease; duration *= 2) {
                ledger_.metrics.wait.add(duration);
                outcomes_.count_release(now_ - duration, now_);
                outcomes_.count_loss(now_ - duration, now_);
              }
            }),
            0);
  EXPECT_EQ(ledger_.metrics.hold.count, 2 * ledger_.metrics.wait.count);
}

}  // namespace
}  // namespace belay
