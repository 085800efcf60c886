// Names to keys and back; what is read out of replies and messages.
#include <gtest/gtest.h>

#include <set>

#include "base/packing.h"
#include "primitive/keys.h"
#include "primitive/lock.h"
#include "route/slot.h"

namespace belay {
namespace {

const std::string kClient = "ABCDEFGHIJKLMNOPQRSTUV";

LockPrimitive lock() {
  return LockPrimitive({kClient, "belay:", "17 web-7 billing desk"});
}

TEST(Keys, GiveDistinctNamesDistinctKeys) {
  const std::vector<std::string> names{"a",      "{a}", "a}b",    "}x", "{}x",  "{x", "%",
                                       "%25",    "%7D", "}",      "=a", ":a",   "{a", "a{b}",
                                       "{a}{b}", "a%}", "{a}%7D", "{}", "{{a}}"};
  std::set<std::string> keys;
  for (const std::string& name : names) {
    keys.insert(key_of("belay:", 'r', name));
  }
  EXPECT_EQ(keys.size(), names.size());
}

TEST(Keys, LeadBackToTheirNames) {
  for (const std::string& name :
       {std::string("a"), std::string("{a}"), std::string("a}b"), std::string("}x"),
        std::string("{}x"), std::string("{x"), std::string("a\0b\n", 4),
        std::string("\xF0\x9F\x94\x92"), std::string("100%")}) {
    EXPECT_EQ(name_of("belay:", 'r', key_of("belay:", 'r', name)), name);
  }
}

TEST(Keys, OfAResourceShareASlotWithItsFence) {
  for (const char* name : {"a", "user{42}:cart", "{}x", "}"}) {
    const Resource resource = lock().resource(name);
    for (const std::string& key : resource.keys) {
      EXPECT_EQ(slot_of(key), resource.slot) << key;
    }
  }
}

TEST(Keys, KeepAValidHashTag) {
  EXPECT_EQ(lock().resource("user{42}:cart").slot, slot_of("{42}"));
}

TEST(Keys, OfOthersAreNoNames) {
  for (const char* key : {"belay:r", "belay:r:{}", "belay:q:{a}", "other:r:{a}", "belay:r:{a%zz}",
                          "belay:r=plain", "belay:r:{a}b}"}) {
    EXPECT_EQ(name_of("belay:", 'r', key), std::nullopt) << key;
  }
}

TEST(Message, IsReadBackFieldByField) {
  const std::string payload = Packer()
                                  .u8(1)
                                  .number(5)
                                  .number(1000)
                                  .number(77)
                                  .number(85)
                                  .number(100'000)
                                  .u8(1)
                                  .bytes("belay:r:{a}")
                                  .take();
  const std::optional<Message> message = lock().read_message(payload);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->kind, MessageKind::kGrant);
  EXPECT_EQ(message->epoch, 5);
  EXPECT_EQ(message->fence, 77);
  EXPECT_EQ(message->last_fence, 85);
  EXPECT_EQ(message->grant_lease, 100'000);
  EXPECT_TRUE(message->others_wait);
  EXPECT_EQ(message->name, "a");
}

TEST(Message, ThatIsCutShortOrForeignIsNone) {
  const std::string payload = Packer()
                                  .u8(1)
                                  .number(5)
                                  .number(1000)
                                  .number(77)
                                  .number(85)
                                  .number(100'000)
                                  .u8(1)
                                  .bytes("belay:r:{a}")
                                  .take();
  for (std::size_t size = 0; size < payload.size(); ++size) {
    EXPECT_FALSE(lock().read_message(payload.substr(0, size))) << size;
  }
  EXPECT_FALSE(
      lock().read_message(Packer().u8(9).number(5).number(1000).bytes("belay:r:{a}").take()));
}

TEST(Scan, EscapesThePrefix) {
  EXPECT_EQ(LockPrimitive({kClient, "a*b:", "1 h l"}).scan_pattern(), "a\\*b:r[:=]*");
}

}  // namespace
}  // namespace belay
