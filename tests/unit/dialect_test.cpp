// Names to keys and back; what is read out of replies and messages.
#include <gtest/gtest.h>

#include <set>

#include "base/config.h"
#include "base/packing.h"
#include "dialect/fenced_write.h"
#include "dialect/keys.h"
#include "dialect/mac.h"
#include "dialect/native.h"
#include "route/slot.h"
#include "unit/with_reply.h"

namespace belay {
namespace {

const std::string kClient = "ABCDEFGHIJKLMNOPQRSTUV";

const Identity kMe{kClient, "belay:", "17 web-7 billing desk", "my secret"};

NativeDialect native() {
  return NativeDialect(kMe, kSecond);
}

// A grant of "a" to our epoch 5, by a script.
std::string grant(std::int64_t fence = 77, std::int64_t last = 85, Micros lease = 100'000) {
  const std::string head = Packer()
                               .u8(1)
                               .u8(1)
                               .number(5)
                               .number(1000)
                               .number(fence)
                               .number(last)
                               .number(lease)
                               .u8(1)
                               .take();
  const std::string key = "belay:r:{a}";
  return head + mac_of(kMe, 5, head + key) + key;
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
    const Resource resource = native().resource(name);
    for (const std::string& key : resource.keys) {
      EXPECT_EQ(slot_of(key), resource.slot) << key;
    }
  }
}

TEST(Keys, OfAGuardShareASlotWithTheKeyThatItGuards) {
  for (const std::string key : {"a", "user{42}:cart", "{}x", "}", "50%", "{a", "a}b", "{{a}}"}) {
    EXPECT_EQ(slot_of(guard_key_of("belay:", key)), slot_of(key)) << key;
    EXPECT_TRUE(guard_key_of("belay:", key).ends_with(key)) << key;
  }
  EXPECT_NE(guard_key_of("belay:", "a"), guard_key_of("belay:", "{a}"));
}

TEST(Keys, KeepAValidHashTag) {
  EXPECT_EQ(native().resource("user{42}:cart").slot, slot_of("{42}"));
}

TEST(Keys, OfOthersAreNoNames) {
  for (const char* key : {"belay:r", "belay:r:{}", "belay:w:{a}", "other:r:{a}", "belay:r:{a%zz}",
                          "belay:r=plain", "belay:r:{a}b}", "belay:r:{{a%7D}"}) {
    EXPECT_EQ(name_of("belay:", 'r', key), std::nullopt) << key;
  }
}

TEST(Message, IsReadBackFieldByField) {
  const std::optional<Message> message = native().read_message(grant());
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
  const std::string payload = grant();
  for (std::size_t size = 0; size < payload.size(); ++size) {
    EXPECT_FALSE(native().read_message(payload.substr(0, size))) << size;
  }
  EXPECT_FALSE(native().read_message(
      Packer().u8(9).u8(1).number(5).number(1000).bytes("belay:r:{a}").take()));
}

TEST(Message, ThatGrantsWhatNoScriptGivesOutIsNone) {
  const auto grants = [](std::int64_t fence, std::int64_t last, Micros lease) {
    return native().read_message(grant(fence, last, lease)).has_value();
  };
  EXPECT_TRUE(grants(77, 85, kMaxGrant));
  EXPECT_FALSE(grants(77, 85, kMaxGrant + 1));
  EXPECT_FALSE(grants(0, 8, 1000));
  EXPECT_FALSE(grants(-3, 8, 1000));
  EXPECT_FALSE(grants(77, 76, 1000));
  EXPECT_FALSE(grants(77, kMaxFence + 1, 1000));
}

TEST(Message, ThatGrantsIsNoneOnceAnyOfItsBytesIsAnother) {
  const std::string payload = grant();
  for (std::size_t i = 0; i < payload.size(); ++i) {
    std::string forged = payload;
    forged[i] = static_cast<char>(forged[i] ^ 1);
    const std::optional<Message> message = native().read_message(forged);
    EXPECT_FALSE(message && message->kind == MessageKind::kGrant) << i;
  }
  EXPECT_FALSE(native().read_message(payload + "x"));
  EXPECT_FALSE(native().read_message(payload + "}"));
}

TEST(Message, ThatGrantsIsForOneClientAlone) {
  Identity other = kMe;
  other.client.back() = 'x';
  EXPECT_FALSE(NativeDialect(other, kSecond).read_message(grant()));
  other = kMe;
  other.secret = "its secret";
  EXPECT_FALSE(NativeDialect(other, kSecond).read_message(grant()));
}

TEST(Message, ThatLooksBackIsNone) {
  const auto next = [](Micros look_in) {
    return native().read_message(
        Packer().u8(2).u8(1).number(5).number(1000).number(look_in).bytes("belay:r:{a}").take());
  };
  EXPECT_TRUE(next(0));
  EXPECT_FALSE(next(-1));
}

TEST(Secret, IsAnotherForEachEpochAndIsNotTheClients) {
  EXPECT_EQ(secret_of(kMe, 5).size(), 20U);
  EXPECT_NE(secret_of(kMe, 5), secret_of(kMe, 6));
  AcquireArgs args;
  args.epoch = 5;
  const Resource resource = native().resource("a");
  const Command command = native().lock.acquire(resource, args);
  EXPECT_NE(command.args.at(0).find(secret_of(kMe, 5)), std::string::npos);
  for (const std::string& arg : command.args) {
    EXPECT_EQ(arg.find(kMe.secret), std::string::npos);
  }
}

// Gives `read` the reply that the bytes are.
std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

TEST(Acquire, IsNotGrantedByAnAnswerWithoutAFence) {
  const auto granted = [](std::int64_t fence, std::int64_t last) {
    bool read = false;
    with_reply(bulk(Packer().u8(1).number(1000).number(fence).number(last).u8(0).number(1).take()),
               [&](Reply reply) { read = native().lock.read_acquire(reply).has_value(); });
    return read;
  };
  EXPECT_TRUE(granted(1, 9));
  EXPECT_TRUE(granted(kMaxFence, kMaxFence));
  EXPECT_FALSE(granted(0, 8));
  EXPECT_FALSE(granted(-1, 8));
  EXPECT_FALSE(granted(9, 8));
  EXPECT_FALSE(granted(1, kMaxFence + 1));
}

TEST(Acquire, LooksAtTheEndOfALeaseOnlyWhereItIsNextInLine) {
  for (const auto& [position, look_in] : {std::pair(0, 50 * kSecond), std::pair(1, kNever)}) {
    Packer queued;
    queued.u8(2).number(1000).number(position).number(50 * kSecond).number(900).number(77);
    with_reply(bulk(queued.number(0).take()), [look = look_in](Reply reply) {
      EXPECT_EQ(native().lock.read_acquire(reply)->look_in, look);
    });
  }
}

TEST(Renew, ReadsNoCodeThatThereIsNot) {
  for (const std::uint64_t code : {0, 4, 255}) {
    with_reply(bulk(Packer().number(1000).u8(code).number(8).u8(0).take()),
               [](Reply reply) { EXPECT_FALSE(native().read_renew(reply)); });
  }
  with_reply(bulk(Packer().number(1000).u8(1).number(kMaxFence + 1).u8(0).take()),
             [](Reply reply) { EXPECT_FALSE(native().read_renew(reply)); });
}

TEST(Inspect, TakesNoNumbersBeyondAllMeasure) {
  const std::string time = bulk(Packer().number(1'000'000).take());
  for (const char* total : {":-1\r\n", ":9223372036854775807\r\n"}) {
    with_reply("*5\r\n" + time + "$0\r\n\r\n" + total + ":0\r\n:0\r\n",
               [](Reply reply) { EXPECT_FALSE(native().read_inspect(reply)); });
  }
  const std::string waiter = bulk("-9223372036854775808") + bulk("");
  with_reply("*7\r\n" + time + "$0\r\n\r\n:1\r\n:0\r\n:1\r\n" + waiter, [](Reply reply) {
    const std::optional<Inspection> inspection = native().read_inspect(reply);
    ASSERT_TRUE(inspection);
    EXPECT_EQ(inspection->members.at(0).since_ms, 0);
    EXPECT_EQ(inspection->primitive, BELAY_LOCK);
  });
}

TEST(FencedWrite, GuardsAKeyUnderItsClientsPrefix) {
  for (const std::string prefix : {"belay:", "mine:"}) {
    const auto query = fenced_write_query(prefix, {"k", 7, {"INCR"}});
    const Command command = query->command(0, {});
    ASSERT_EQ(command.keys.size(), 2U);
    EXPECT_EQ(command.keys[0], "k");
    EXPECT_EQ(command.keys[1], guard_key_of(prefix, "k"));
    EXPECT_TRUE(command.keys[1].starts_with(prefix + "g:{")) << command.keys[1];
  }
}

TEST(FencedWrite, TakesNoReplyThatTheScriptDoesNotGive) {
  const auto read = [](const std::string& code, std::int64_t newest, const std::string& reply) {
    Event event;
    Query::Progress progress = Query::Progress::kAgain;
    with_reply("*3\r\n:" + code + "\r\n" + bulk(Packer().number(newest).take()) + reply,
               [&](Reply whole) {
                 progress = fenced_write_query("belay:", {"k", 7, {"INCR"}})->read(whole, &event);
               });
    return progress == Query::Progress::kDone ? std::to_string(event.status.code) + " " + event.text
                                              : "unsound";
  };
  EXPECT_EQ(read("1", 7, ":-12\r\n"), "0 -12");
  EXPECT_EQ(read("1", 7, "*1\r\n+OK\r\n"), "0 ");
  EXPECT_EQ(read("2", 8, "_\r\n"), std::to_string(BELAY_STALE_FENCE) + " ");
  EXPECT_EQ(read("3", 8, "_\r\n"), "unsound");
  EXPECT_EQ(read("2", 6, "_\r\n"), "unsound");
  EXPECT_EQ(read("2", kMaxFence + 1, "_\r\n"), "unsound");
}

TEST(Late, IsWhatEveryScriptSaysAlike) {
  const auto read = [](const std::string& bytes) {
    std::optional<ServerTime> late;
    with_reply(bytes, [&](Reply reply) { late = native().read_late(reply); });
    return late.value_or(ServerTime{-1}).since_1970;
  };
  EXPECT_EQ(read(bulk(Packer().u8(4).number(1000).take())), 1000);
  EXPECT_EQ(read(bulk(Packer().u8(3).number(1000).take())), -1);
  EXPECT_EQ(read(bulk(Packer().u8(4).number(1000).number(0).take())), -1);
  EXPECT_EQ(read(bulk(Packer().u8(4).take())), -1);
  EXPECT_EQ(read("*2\r\n:4\r\n:1000\r\n"), -1);
}

TEST(Scan, EscapesThePrefix) {
  EXPECT_EQ(NativeDialect({kClient, "a*b:", "1 h l"}, kSecond).scan_pattern(), "a\\*b:r[:=]*");
}

}  // namespace
}  // namespace belay
