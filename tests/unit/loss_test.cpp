// What follows the loss of a hold, command by command. A fake link, with the server's replies by
// hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/packing.h"
#include "unit/greeted.h"

namespace belay {
namespace {

class Loss : public Greeted {
 protected:
  void acquire(std::int64_t tag) {
    AcquireRequest request;
    request.primitive = &lock_;
    request.name = "a";
    request.lease = 100 * kMillisecond;
    request.want.lock_delay = kSecond;
    request.notify = true;
    ASSERT_TRUE(engine_.acquire(tag, request, kNever, now_).ok());
  }

  // How many scripts were called since the last time.
  std::int64_t scripts() {
    const auto count = std::count_if(
        link_.sent.begin(), link_.sent.end(),
        [](const std::string& bytes) { return bytes.find("EVAL") != std::string::npos; });
    link_.sent.clear();
    return count;
  }
};

// Asking again frees what one had: an ask that overtook the leave would end the lock-delay.
TEST_F(Loss, IsToldBeforeTheNameIsAskedForAgain) {
  acquire(1);
  answer(bulk(Packer().u8(1).number(100 * kSecond).number(50).number(58).u8(0).number(1).take()));
  acquire(2);
  EXPECT_EQ(events_.events.size(), 1U);
  scripts();
  now_ += 150 * kMillisecond;
  engine_.on_timer(now_);
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].kind, BELAY_EVENT_LOST);
  EXPECT_EQ(scripts(), 1);
  answer("-NOSCRIPT No matching script.\r\n");
  EXPECT_EQ(scripts(), 1);
  answer(bulk(Packer().u8(1).number(101 * kSecond).number(0).take()));
  EXPECT_EQ(scripts(), 1);
}

}  // namespace
}  // namespace belay
