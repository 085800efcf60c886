// Globs, packing, random numbers, messages.
#include <gtest/gtest.h>

#include <set>

#include "base/glob.h"
#include "base/packing.h"
#include "base/random.h"
#include "base/sha1.h"
#include "base/status.h"

namespace belay {
namespace {

TEST(Glob, MatchesAsRedisDoes) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("orders:*", "orders:42"));
  EXPECT_FALSE(glob_match("orders:*", "order:42"));
  EXPECT_TRUE(glob_match("a?c", "abc"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
  EXPECT_TRUE(glob_match("[a-c]x", "bx"));
  EXPECT_FALSE(glob_match("[^a-c]x", "bx"));
  EXPECT_TRUE(glob_match("\\*", "*"));
  EXPECT_FALSE(glob_match("\\*", "x"));
  EXPECT_TRUE(glob_match("*a*b*", "xxaxxbxx"));
  EXPECT_FALSE(glob_match("*a*b", "xxbxxa"));
}

TEST(Glob, TakesAnyBytes) {
  EXPECT_TRUE(glob_match(std::string_view("a\0*", 3), std::string_view("a\0b", 3)));
  EXPECT_FALSE(glob_match("a", std::string_view("a\0", 2)));
}

TEST(Glob, EndsOnPatternsThatAreNotClosed) {
  EXPECT_FALSE(glob_match("[", "x"));
  EXPECT_TRUE(glob_match("[x", "x"));
  EXPECT_FALSE(glob_match("\\", "x"));
}

// The vectors of RFC 3174, and the sizes around a block.
TEST(Sha1, IsThatOfTheStandard) {
  EXPECT_EQ(sha1_hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha1_hex(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  EXPECT_EQ(sha1_hex(std::string(55, 'x')), "cef734ba81a024479e09eb5a75b6ddae62e6abf1");
  EXPECT_EQ(sha1("abc").size(), 20U);
}

TEST(Packing, GivesBackWhatItTook) {
  const std::int64_t large = (std::int64_t{1} << 53) - 1;
  const std::string packed = Packer().u8(7).u16(500).number(large).number(-3).bytes("end").take();
  Unpacker fields(packed);
  EXPECT_EQ(fields.u8(), 7);
  EXPECT_EQ(fields.u16(), 500);
  EXPECT_EQ(fields.number(), large);
  EXPECT_EQ(fields.number(), -3);
  EXPECT_EQ(fields.rest(), "end");
  EXPECT_TRUE(fields.complete());
}

TEST(Packing, ClampsCountsThatAreTooLarge) {
  Unpacker fields(std::string_view("\xff\xff"));
  EXPECT_EQ(Packer().u16(70'000).take(), "\xff\xff");
  EXPECT_EQ(fields.u16(), 65535);
}

TEST(Packing, SaysWhenBytesAreMissingOrNoNumber) {
  Unpacker missing("short");
  EXPECT_EQ(missing.number(), 0);
  EXPECT_FALSE(missing.complete());
  Unpacker nan(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff", 8));
  EXPECT_EQ(nan.number(), 0);
  EXPECT_FALSE(nan.complete());
}

TEST(Packing, TakesNoFractionForANumber) {
  Unpacker fraction(std::string_view("\0\0\0\0\0\0\xf8\x3f", 8));  // 1.5
  EXPECT_EQ(fraction.number(), 1);
  EXPECT_FALSE(fraction.complete());
}

TEST(Status, SaysWhatItSaysInOneLine) {
  EXPECT_EQ(Status(BELAY_SERVER_ERROR, "a\nb\x1b[31m\x7f").message, "a\\x0ab\\x1b[31m\\x7f");
  EXPECT_EQ(Status(BELAY_SERVER_ERROR, "caf\xc3\xa9").message, "caf\xc3\xa9");
}

TEST(Status, CutsWordsThatHaveNoEnd) {
  const std::string words(1 << 20, 'x');
  const std::string message = Status(BELAY_SERVER_ERROR, words).message;
  EXPECT_LT(message.size(), 8192U);
  EXPECT_TRUE(message.ends_with("x..."));
}

TEST(Random, GivesIdsOf22CharactersThatDiffer) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    ids.insert(random_id());
  }
  EXPECT_EQ(ids.size(), 1000U);
  EXPECT_EQ(ids.begin()->size(), 22U);
}

TEST(Random, StaysWithinItsBounds) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t number = random.between(-2, 2);
    EXPECT_TRUE(number >= -2 && number <= 2);
  }
}

}  // namespace
}  // namespace belay
