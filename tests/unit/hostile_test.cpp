// The engine and its node against a server that wishes them ill, where only a bound helps.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/packing.h"
#include "primitive/keys.h"
#include "unit/greeted.h"

namespace belay {
namespace {

class HostileServer : public Greeted {
 protected:
  void acquire(const std::string& name) {
    AcquireRequest request;
    request.primitive = &lock_;
    request.name = name;
    ASSERT_TRUE(engine_.acquire(++tag_, request, kNever, now_).ok());
  }

  // That somebody waits for `name`, to that claim of ours.
  void tell(const std::string& name, std::int64_t epoch) {
    const std::string payload = Packer()
                                    .u8(3)
                                    .u8(1)
                                    .number(epoch)
                                    .number(100 * kSecond)
                                    .bytes(key_of("belay:", 'r', name))
                                    .take();
    answer(">3\r\n$7\r\nmessage\r\n" + bulk(me_.inbox()) + bulk(payload));
  }

  std::int64_t tag_ = 0;
};

TEST_F(HostileServer, MakesUsLeaveNoClaimThatWeNeverMade) {
  ASSERT_TRUE(node_.up());
  acquire("a");
  const std::size_t before = link_.sent.size();
  tell("b", 2);
  tell("b", 0);
  tell("b", -1);
  EXPECT_EQ(link_.sent.size(), before);
  tell("b", 1);
  EXPECT_EQ(link_.sent.size(), before + 1);
}

// Each would be remembered until it is answered.
TEST_F(HostileServer, MakesUsRememberNoMoreDeadClaimsThanWeMust) {
  acquire("a");
  const std::size_t before = link_.sent.size();
  for (int i = 0; i < 50'000; ++i) {
    tell("name " + std::to_string(i), 1);
  }
  EXPECT_GE(link_.sent.size(), before + 1000);
  EXPECT_LE(link_.sent.size(), before + 10'000);
  EXPECT_TRUE(node_.up());
}

}  // namespace
}  // namespace belay
