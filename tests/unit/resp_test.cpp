// The Redis protocol as a server may send it, well or ill.
#include "net/resp.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace belay {
namespace {

class Resp : public testing::Test {
 protected:
  // What is wrong with the bytes; "" where nothing is.
  std::string feed(std::string_view bytes) {
    return reader_.feed(bytes, [this](Reply reply) {
      texts_.emplace_back(reply.text());
      return true;
    });
  }

  ReplyReader reader_;
  std::vector<std::string> texts_;
};

TEST_F(Resp, IsReadByteByByte) {
  for (const char byte : std::string_view("$2\r\nab\r\n+OK\r\n*1\r\n:1\r\n-ERR x\r\n")) {
    EXPECT_EQ(feed(std::string_view(&byte, 1)), "");
  }
  EXPECT_EQ(texts_, (std::vector<std::string>{"ab", "OK", "", "ERR x"}));
}

TEST_F(Resp, EndsWhereALineHasNoEnd) {
  const std::string part(1U << 16U, 'a');
  EXPECT_EQ(feed("+"), "");
  std::size_t fed = 0;
  std::string wrong;
  while (wrong.empty() && fed < (16U << 20U)) {
    wrong = feed(part);
    fed += part.size();
  }
  EXPECT_EQ(wrong, "a reply is larger than 8 MiB");
  EXPECT_LE(fed, (8U << 20U) + part.size());
}

TEST_F(Resp, CountsEachReplyForItself) {
  const std::string reply = "$1000\r\n" + std::string(1000, 'a') + "\r\n";
  for (std::size_t fed = 0; fed < (10U << 20U); fed += reply.size()) {
    ASSERT_EQ(feed(reply), "");
    ASSERT_EQ(texts_.size(), 1U);
    texts_.clear();
  }
}

TEST_F(Resp, ReservesNothingForWhatIsOnlyAnnounced) {
  EXPECT_NE(feed("*20001\r\n"), "");
  reader_.reset();
  EXPECT_NE(feed("%9223372036854775807\r\n"), "");
  reader_.reset();
  EXPECT_EQ(feed("$512000000\r\n"), "");
  EXPECT_EQ(feed("more"), "");
}

TEST_F(Resp, EndsWhereItIsNestedWithoutEnd) {
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) {
    deep += "*1\r\n";
  }
  EXPECT_EQ(feed(deep), "a reply has too many elements or levels");
}

std::string message(std::size_t size) {
  const std::string text(size, 'x');
  return ">3\r\n$7\r\nmessage\r\n$5\r\ninbox\r\n$" + std::to_string(size) + "\r\n" + text + "\r\n";
}

// Whoever publishes them must not cost us the connection, nor the memory.
TEST_F(Resp, PassesOverMessagesThatAreLargerThanAnyOfOurs) {
  for (const std::size_t size : {std::size_t{8193}, std::size_t{9U << 20U}}) {
    const std::string bytes = "+a\r\n" + message(size) + message(size) + "+b\r\n";
    for (const std::size_t part :
         {std::size_t{1}, std::size_t{7}, std::size_t{4096}, bytes.size()}) {
      if (part < 4096 && size > 10'000) {
        continue;
      }
      texts_.clear();
      for (std::size_t at = 0; at < bytes.size(); at += part) {
        ASSERT_EQ(feed(std::string_view(bytes).substr(at, part)), "");
      }
      EXPECT_EQ(texts_, (std::vector<std::string>{"a", "b"})) << size << " " << part;
      EXPECT_EQ(reader_.take_passed_over(), 2U);
    }
  }
}

TEST_F(Resp, KeepsMessagesThatMayBeOursAndOtherPushes) {
  EXPECT_EQ(feed(message(8192)), "");
  EXPECT_EQ(feed(message(0)), "");
  EXPECT_EQ(feed(">2\r\n$10\r\ninvalidate\r\n_\r\n"), "");
  EXPECT_EQ(feed(">3\r\n$9\r\nsubscribe\r\n$5\r\ninbox\r\n:1\r\n"), "");
  EXPECT_EQ(texts_.size(), 4U);
  EXPECT_EQ(reader_.take_passed_over(), 0U);
}

TEST_F(Resp, ForgetsWhatItWasPassingOverOnANewConnection) {
  EXPECT_EQ(feed(message(100'000).substr(0, 5000)), "");
  reader_.reset();
  EXPECT_EQ(feed("+a\r\n"), "");
  EXPECT_EQ(texts_, std::vector<std::string>{"a"});
}

TEST_F(Resp, MayBeNestedALittle) {
  EXPECT_EQ(feed("*1\r\n*1\r\n*1\r\n%1\r\n+a\r\n*1\r\n:1\r\n"), "");
  EXPECT_EQ(texts_.size(), 1U);
}

// Of each of many arrays that are small by themselves.
TEST_F(Resp, EndsWhereItsElementsAreTooMany) {
  std::string many = "*100\r\n";
  for (int i = 0; i < 100; ++i) {
    many += "*1000\r\n";
    for (int k = 0; k < 1000; ++k) {
      many += "_\r\n";
    }
  }
  EXPECT_EQ(feed(many), "a reply has too many elements or levels");
  EXPECT_TRUE(texts_.empty());
}

TEST_F(Resp, CountsTheElementsOfEachReplyForItself) {
  std::string reply = "*15000\r\n";
  for (int i = 0; i < 15'000; ++i) {
    reply += "_\r\n";
  }
  EXPECT_EQ(feed(reply + reply), "");
  EXPECT_EQ(texts_.size(), 2U);
}

TEST_F(Resp, SaysWhatIsNoProtocolWithoutItsControlBytes) {
  const std::string wrong = feed("\x1b[2J");
  EXPECT_NE(wrong, "");
  EXPECT_EQ(wrong.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace belay
