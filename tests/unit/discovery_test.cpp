// Where a master is sought, and what whoever waits for it is told.
#include "route/discovery.h"

#include <gtest/gtest.h>

#include <string>

namespace belay {
namespace {

using Answer = Discovery::Answer;

const Status kCut(BELAY_UNAVAILABLE, "cut");
const Status kRefused(BELAY_UNAVAILABLE, "nobody listens");
const Status kReplica(BELAY_UNAVAILABLE, "it is a replica");
const Status kPassword(BELAY_AUTH_FAILED, "WRONGPASS");

TEST(Discovery, AsksAllInTurnBeforeItSaysThatThereIsNone) {
  Discovery discovery(3);
  EXPECT_EQ(discovery.at(), 0U);
  EXPECT_FALSE(discovery.failed(kRefused, Answer::kNone));
  EXPECT_EQ(discovery.at(), 1U);
  EXPECT_FALSE(discovery.failed(kReplica, Answer::kReplica));
  EXPECT_EQ(discovery.at(), 2U);
  const auto verdict = discovery.failed({BELAY_AUTH_FAILED, "WRONGPASS"}, Answer::kNone);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(discovery.at(), 0U);
  EXPECT_EQ(verdict->code, BELAY_UNAVAILABLE);
  EXPECT_EQ(verdict->message,
            "none of the 3 hosts is a master for us: nobody listens; it is a replica; WRONGPASS");
}

// Whoever gives up before the round is over.
TEST(Discovery, TellsWhatTheHostsHaveSaidSoFar) {
  Discovery discovery(3);
  discovery.found();
  static_cast<void>(discovery.lost(kCut, Answer::kNone));
  static_cast<void>(discovery.failed(kRefused, Answer::kNone));
  EXPECT_EQ(discovery.so_far().message, "of 3 hosts, 1 has been tried: nobody listens");
  static_cast<void>(discovery.failed(kReplica, Answer::kReplica));
  EXPECT_EQ(discovery.so_far().message,
            "of 3 hosts, 2 have been tried: nobody listens; it is a replica");
  EXPECT_FALSE(discovery.knows_all());
  static_cast<void>(discovery.failed(kRefused, Answer::kNone));
  EXPECT_TRUE(discovery.knows_all());  // the verdict says more
  static_cast<void>(discovery.lost(kCut, Answer::kNone));
  EXPECT_FALSE(discovery.knows_all());
}

TEST(Discovery, BeginsWhereTheMasterWasLast) {
  Discovery discovery(3);
  EXPECT_FALSE(discovery.failed(kRefused, Answer::kNone));
  discovery.found();
  EXPECT_EQ(discovery.lost(kCut, Answer::kNone).message, "cut");
  for (const std::size_t at : {1U, 2U, 0U}) {
    EXPECT_EQ(discovery.at(), at);
    EXPECT_EQ(discovery.failed(kRefused, Answer::kNone).has_value(), at == 0);
  }
  EXPECT_EQ(discovery.at(), 1U);
}

// It has said itself that it is none any more.
TEST(Discovery, AsksTheOthersFirstWhereTheMasterBecameAReplica) {
  Discovery discovery(2);
  discovery.found();
  EXPECT_EQ(discovery.lost(kReplica, Answer::kReplica).code, BELAY_UNAVAILABLE);
  EXPECT_EQ(discovery.at(), 1U);
  const auto verdict = discovery.failed(kRefused, Answer::kNone);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->message,
            "none of the 2 hosts is a master for us: it is a replica; nobody listens");
  EXPECT_EQ(discovery.at(), 0U);
}

// Then one of them is the master, and somebody has to mend something.
TEST(Discovery, TellsOfARefusalWhereAllHaveAnswered) {
  Discovery discovery(2);
  EXPECT_FALSE(discovery.failed(kReplica, Answer::kReplica));
  EXPECT_EQ(discovery.failed(kPassword, Answer::kNone)->code, BELAY_AUTH_FAILED);
  EXPECT_FALSE(discovery.failed(kRefused, Answer::kNone));
  EXPECT_EQ(discovery.failed(kPassword, Answer::kNone)->code, BELAY_UNAVAILABLE);
  EXPECT_FALSE(discovery.failed(kReplica, Answer::kReplica));
  EXPECT_EQ(discovery.failed(kReplica, Answer::kReplica)->code, BELAY_UNAVAILABLE);
}

// Before the others were asked, it is no reason to give up.
TEST(Discovery, TellsOfNoRefusalOfAMasterThatWasThere) {
  Discovery several(2);
  several.found();
  EXPECT_EQ(several.lost(kPassword, Answer::kNone).code, BELAY_UNAVAILABLE);
  Discovery one(1);
  one.found();
  EXPECT_EQ(one.lost(kPassword, Answer::kNone).code, BELAY_AUTH_FAILED);
}

TEST(Discovery, PassesOnWhatASingleOneSays) {
  Discovery discovery(1);
  for (const Status& why : {kRefused, kPassword}) {
    const auto verdict = discovery.failed(why, Answer::kNone);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->code, why.code);
    EXPECT_EQ(verdict->message, why.message);
    EXPECT_EQ(discovery.at(), 0U);
  }
  discovery.found();
  EXPECT_EQ(discovery.lost(kReplica, Answer::kReplica).message, kReplica.message);
  EXPECT_TRUE(discovery.failed(kReplica, Answer::kReplica));
}

}  // namespace
}  // namespace belay
