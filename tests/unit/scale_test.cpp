// What very many holds cost: how much one entry of the engine does, and how often the server is
// asked about each. A fake link, with the server's replies by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/packing.h"
#include "scripts/scripts.h"
#include "unit/greeted.h"

namespace belay {
namespace {

constexpr std::uint8_t kOurs = 1;
constexpr std::uint8_t kNotOurs = 2;
constexpr std::size_t kBatch = 64;
constexpr std::size_t kMostAnEntry = 512;

class Scale : public Greeted {
 protected:
  using Words = std::vector<std::string>;

  static Words words_of(const std::string& command) {
    Words words;
    for (std::size_t at = command.find("\r\n") + 2; at < command.size();) {
      const std::size_t size = std::stoul(command.substr(at + 1));
      at = command.find("\r\n", at) + 2;
      words.push_back(command.substr(at, size));
      at += size + 2;
    }
    return words;
  }

  // What was sent since the last time.
  std::vector<Words> take_sent() {
    std::vector<Words> commands;
    for (const std::string& command : std::exchange(link_.sent, {})) {
      commands.push_back(words_of(command));
    }
    return commands;
  }

  static bool is_script(const Words& command) { return command.front().starts_with("EVAL"); }

  // How many claims a script is about.
  static std::size_t claims_of(const Words& command) {
    const bool keeps = command[1] == scripts::kKeep.sha1 || command[1] == scripts::kKeep.body;
    return std::stoul(command[2]) / (keeps ? 1 : 4);
  }

  static std::size_t claims_of(const std::vector<Words>& commands) {
    std::size_t count = 0;
    for (const Words& command : commands) {
      count += is_script(command) ? claims_of(command) : 0;
    }
    return count;
  }

  void hold(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      AcquireRequest request;
      request.primitive = &lock_;
      request.name = std::to_string(++names_);
      request.notify = true;
      ASSERT_TRUE(engine_.acquire(static_cast<std::int64_t>(names_), request, kNever, now_).ok());
      answer(
          bulk(Packer().u8(1).number(100 * kSecond).number(50).number(58).u8(0).number(1).take()));
    }
    link_.sent.clear();
    events_.events.clear();
  }

  // Answers renewals and what watches their records.
  void answer_all(const std::vector<Words>& commands, std::uint8_t code, bool records_stand) {
    for (const Words& command : commands) {
      if (is_script(command)) {
        Packer reply;
        reply.number(100 * kSecond);
        for (std::size_t i = 0; i < claims_of(command); ++i) {
          reply.u8(code).number(58).u8(0);
        }
        answer(bulk(reply.take()));
      } else if (command.front() == "EXISTS") {
        answer(":" + std::to_string(records_stand ? command.size() - 1 : 0) + "\r\n");
      } else {
        answer("+OK\r\n");
      }
    }
  }

  // Everything that timers bring by now, entry by entry.
  std::vector<Words> run_timers() {
    std::vector<Words> all;
    while (engine_.next_deadline() <= now_) {
      engine_.on_timer(now_);
      const std::vector<Words> commands = take_sent();
      EXPECT_LE(claims_of(commands), kMostAnEntry);
      all.insert(all.end(), commands.begin(), commands.end());
    }
    return all;
  }

  // Their first renewals, from which on they are watched.
  void have_watched() {
    now_ += kSecond;
    answer_all(run_timers(), kOurs, true);
    EXPECT_EQ(claims_of(take_sent()), 0U);
  }

  std::size_t names_ = 0;
};

TEST_F(Scale, RenewsABoundedNumberInOneEntry) {
  hold(5000);
  now_ += kSecond;
  const std::vector<Words> renewals = run_timers();
  EXPECT_EQ(claims_of(renewals), 5000U);
  EXPECT_LE(std::count_if(renewals.begin(), renewals.end(), is_script), 5000 / kBatch + 10);
}

// Which was quadratic: each record that was missing had all holds looked through.
TEST_F(Scale, AsksOnceAboutEachHoldAfterAFlush) {
  hold(5000);
  have_watched();
  answer(">2\r\n$10\r\ninvalidate\r\n_\r\n");
  EXPECT_LE(claims_of(take_sent()), kMostAnEntry);
  const std::vector<Words> renewals = run_timers();
  EXPECT_EQ(claims_of(renewals), 5000U);
  answer_all(renewals, kNotOurs, false);
  EXPECT_EQ(std::count_if(events_.events.begin(), events_.events.end(),
                          [](const Event& event) { return event.kind == BELAY_EVENT_LOST; }),
            5000);
  // A leave for each, and nothing more.
  EXPECT_EQ(take_sent().size(), 5000U);
  EXPECT_EQ(run_timers().size(), 0U);
}

TEST_F(Scale, AsksAboutTheClaimsOfAMissingRecordsBatchOnly) {
  hold(4 * kBatch);
  now_ += kSecond;
  std::vector<Words> commands = run_timers();
  ASSERT_EQ(claims_of(commands), 4 * kBatch);
  for (const Words& command : commands) {
    const bool last = command == commands.back();
    answer_all({command}, kOurs, !last);
  }
  EXPECT_EQ(claims_of(take_sent()), kBatch);
}

TEST_F(Scale, GathersWhatIsToldToHaveChanged) {
  hold(kBatch);
  have_watched();
  for (std::size_t i = 1; i <= kBatch; ++i) {
    const std::string key = "belay:r:{" + std::to_string(i) + "}";
    answer(">2\r\n$10\r\ninvalidate\r\n*1\r\n" + bulk(key));
  }
  const std::vector<Words> renewals = run_timers();
  EXPECT_EQ(std::count_if(renewals.begin(), renewals.end(), is_script), 1);
  EXPECT_EQ(claims_of(renewals), kBatch);
}

// A queue serves whoever asks first.
TEST_F(Scale, AsksOnANewConnectionInTheOrderOfTheSubmissions) {
  node_.on_link_closed({BELAY_UNAVAILABLE, "cut"}, now_);
  std::vector<std::string> submitted;
  for (std::int64_t tag = 1; tag <= 100; ++tag) {
    AcquireRequest request;
    request.primitive = &lock_;
    request.name = std::to_string(tag * 7919 % 101);
    submitted.push_back("belay:r:{" + request.name + "}");
    ASSERT_TRUE(engine_.acquire(tag, request, kNever, now_).ok());
  }
  now_ = node_.next_deadline();
  greet("6");
  answer(":1\r\n");  // the older connection was killed
  std::vector<std::string> asked;
  for (const Words& command : take_sent()) {
    if (is_script(command)) {
      asked.push_back(command.at(3));
    }
  }
  EXPECT_EQ(asked, submitted);
}

TEST_F(Scale, AsksABoundedNumberAnewInOneEntryOfANewConnection) {
  hold(5000);
  have_watched();
  node_.on_link_closed({BELAY_UNAVAILABLE, "the connection was cut"}, now_);
  EXPECT_EQ(run_timers().size(), 0U);
  now_ = node_.next_deadline();
  greet("6");
  answer(":1\r\n");  // the older connection was killed
  ASSERT_TRUE(node_.up());
  link_.sent.clear();
  EXPECT_EQ(claims_of(run_timers()), 5000U);
}

}  // namespace
}  // namespace belay
