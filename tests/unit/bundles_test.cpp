// Several names as one, alone: where one command does for all, and where each slot has to be asked
// apart, as in a cluster. The server's replies are given by hand.
#include "engine/bundles.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "route/server_error.h"
#include "unit/parts.h"

namespace belay {
namespace {

class ABundle : public EngineParts {
 protected:
  // All names that were asked for together, with fences from this one on.
  void grant(std::int64_t fence, int names = 1) {
    Packer packed;
    packed.u8(1).time(server_time());
    for (int i = 0; i < names; ++i) {
      packed.number(fence + i * 10).number(fence + i * 10 + 8).u8(0);
    }
    answer(names == 1 ? belay::granted(100 * kSecond, fence) : bulk(packed.take()));
  }

  void refuse() { answer(bulk(Packer().u8(3).number(100 * kSecond).number(kSecond).take())); }

  void acquire(const std::vector<std::string>& names, Micros wait, Micros lease = 0) {
    AcquireRequest request;
    request.lease = lease;
    request.notify = true;
    request.primitive = &lock_;
    for (const std::string& name : names) {
      request.names.emplace_back(name, Want());
    }
    bundles_.acquire(1, request, wait);
    finish();
  }

  // Two names of one group that are had.
  Bundle& got(Micros lease = 0) {
    acquire({"a", "b"}, kNever, lease);
    grant(50, 2);
    asked();
    Bundle& bundle = *ledger_.held_bundle(events_.events.at(0).hold);
    events_.events.clear();
    return bundle;
  }

  void release(Bundle& bundle) {
    bundles_.release(2, bundle);
    finish();
  }

  // The end of an entry.
  void finish() {
    do {
      bundles_.take_steps();
      bundles_.send_asks();
    } while (bundles_.due());
  }

  [[nodiscard]] Claim& claim(const std::string& name) const {
    return *ledger_.find_claim(Kind::kLock, name);
  }

  static std::string left() { return Packer().u8(1).number(100 * kSecond).number(0).take(); }

  void warn(const std::string& name, bool at_risk) {
    Hold& hold = *claim(name).holds.front();
    hold.at_risk = at_risk;
    outcomes_.tell_of(hold, at_risk ? BELAY_EVENT_AT_RISK : BELAY_EVENT_RECOVERED,
                      Status(BELAY_OK, name));
    finish();
  }

  void lose(const std::string& name) {
    course_.on_verdict({Verdict::Kind::kLost, &claim(name), 0, 0, "", BELAY_REASON_GONE, "gone"});
    course_.reconcile(claim(name));
    finish();
  }

  void on_node_reply(Node& node, std::uint64_t id, Reply reply, Micros sent,
                     Micros /*now*/) override {
    const std::optional<Flight> flight = flights_.take(id);
    ASSERT_TRUE(flight.has_value());
    if (flight->kind == FlightKind::kAcquire) {
      course_.on_acquire_reply(*flight, reply, sent);
    } else if (flight->kind == FlightKind::kLeave) {
      departures_.on_reply(*flight, reply, sent);
      for (const ClaimRef& left : flight->refs) {
        course_.on_left(*left.claim);
      }
    } else if (flight->kind == FlightKind::kWatch) {
      watchdog_.on_watch_reply(*flight, reply);
    } else if (flight->kind == FlightKind::kQuery) {
      operations_.on_reply(*ledger_.pending(flight->pending), node, reply, sent);
    }
    finish();
  }

  // The calls since the last time, each as the names that it is about.
  std::vector<std::string> asked() {
    std::vector<std::string> calls;
    for (const std::string& script : sent("EVAL")) {
      std::string names;
      for (const char name : {'a', 'b', 'c'}) {
        const bool about = script.find(std::string("belay:r:{") + name + "}") != std::string::npos;
        names += about ? std::string(1, name) : std::string();
      }
      calls.push_back(names);
    }
    return calls;
  }

  // To a renewal of one claim: 1 it is ours, 2 it is not. Its record is watched from then on.
  void renew(std::uint8_t code) {
    answer(bulk(Packer().time(server_time()).u8(code).number(58).u8(0).take()));
    answer("+OK\r\n:1\r\n");
  }

  // How many keys the only call since the last time has.
  std::size_t keys_asked_for() {
    EXPECT_EQ(link_.sent.size(), 1U);
    const std::string& call = link_.sent.at(0);
    std::size_t keys = 0;
    for (std::size_t at = call.find("\nbelay:"); at != std::string::npos;
         at = call.find("\nbelay:", at + 1)) {
      keys += call.compare(at, 10, "\nbelay:in:") == 0 ? 0 : 1;
    }
    link_.sent.clear();
    return keys;
  }

  using Calls = std::vector<std::string>;
};

TEST_F(ABundle, OfOneGroupCostsOneExchange) {
  acquire({"c", "a", "b"}, kNever);
  EXPECT_EQ(asked(), Calls{"abc"});
  grant(50, 3);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_OK);
  EXPECT_EQ(events_.events[0].fences, (std::vector<std::int64_t>{50, 60, 70}));
  EXPECT_EQ(ledger_.held_bundle(events_.events[0].hold)->fences(), events_.events[0].fences);
  EXPECT_EQ(asked(), Calls{});
}

TEST_F(ABundle, OfSeveralGroupsIsTriedInParallel) {
  apart_ = true;
  acquire({"a", "b", "c"}, kNever);
  EXPECT_EQ(asked().size(), 3U);
  grant(50);
  grant(60);
  EXPECT_TRUE(events_.events.empty());
  grant(70);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].fences.size(), 3U);
}

TEST_F(ABundle, ThatEndsWhenItIsToAskAgainLeavesThatToWhoComesNext) {
  apart_ = true;
  acquire({"a", "b"}, 51 * kMillisecond);
  AcquireRequest request;
  request.primitive = &lock_;
  request.name = "a";
  course_.place(course_.add_acquire(2, request, kNever));
  EXPECT_EQ(asked().size(), 2U);
  answer("-NOREPLICAS Not enough good replicas to write.\r\n");
  answer("-NOREPLICAS Not enough good replicas to write.\r\n");
  now_ += 50 * kMillisecond;  // the time to ask again has come, and then the end
  for (const char* name : {"a", "b"}) {
    const std::int64_t part = claim(name).waiting.front()->tag;
    course_.on_due(claim(name));
    outcomes_.complete(*ledger_.pending(part), Status(BELAY_UNAVAILABLE));
    course_.reconcile(claim(name));
  }
  finish();
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].tag, 1);
  EXPECT_EQ(asked(), (Calls{"a"}));  // nothing of b is there
  grant(50);
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].tag, 2);
  EXPECT_EQ(events_.events[1].status.code, BELAY_OK);
}

TEST_F(ABundle, GoesBackWhereAGroupIsBusyAndIsTakenInOrder) {
  apart_ = true;
  acquire({"b", "a"}, kNever);
  const Calls tried = asked();
  ASSERT_EQ(tried.size(), 2U);
  grant(50);
  refuse();
  // What the first group gave is left before anything is asked for again.
  EXPECT_EQ(asked(), (Calls{tried[0], "a"}));
  answer(bulk(left()));
  grant(60);
  EXPECT_EQ(asked(), Calls{"b"});
  EXPECT_TRUE(events_.events.empty());
  grant(70);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].fences, (std::vector<std::int64_t>{70, 60}));
}

TEST_F(ABundle, ThatIsOnlyTriedIsBusyWithoutAnotherQuestion) {
  acquire({"a", "b"}, 0);
  asked();
  refuse();
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_BUSY);
  EXPECT_EQ(events_.events[0].remaining, kSecond);  // as the server says
  EXPECT_EQ(asked(), Calls{});
  EXPECT_TRUE(ledger_.claims.empty());
}

TEST_F(ABundle, WaitsForTheServerNoLongerThanForItsNames) {
  acquire({"a", "b"}, 500 * kMillisecond);
  now_ += 500 * kMillisecond;
  for (const std::int64_t part : {-1, -2}) {
    Pending& pending = *ledger_.pending(part);
    EXPECT_EQ(pending.timer.at, now_);
  }
}

TEST_F(ABundle, IsLeftByOneCommandAndReleasedOnce) {
  release(got());
  EXPECT_EQ(asked(), Calls{"ab"});
  EXPECT_TRUE(events_.events.empty());
  answer(bulk(left() + left()));
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].kind, BELAY_EVENT_RELEASED);
  EXPECT_EQ(events_.events[0].status.code, BELAY_OK);
  EXPECT_TRUE(ledger_.claims.empty());
}

// Another owner has one of its names at once; the server answers about the other.
TEST_F(ABundle, IsReleasedWithTheLastOfItsNames) {
  Bundle& bundle = got();
  AcquireRequest request;
  request.primitive = &lock_;
  request.name = "a";
  course_.place(course_.add_acquire(7, request, kNever));
  release(bundle);
  EXPECT_EQ(asked(), Calls{"b"});
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].tag, 7);
  answer(bulk(Packer().u8(static_cast<int>(LeaveCode::kNotOurs)).number(0).number(0).take()));
  finish();
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].kind, BELAY_EVENT_RELEASED);
  EXPECT_EQ(events_.events[1].status.code, BELAY_LOST);
}

// Where one is not plainly free or held, the same is asked of all in full, once.
TEST_F(ABundle, IsAskedForInFullWhereOneIsNotPlain) {
  acquire({"a", "b"}, kNever);
  EXPECT_EQ(keys_asked_for(), 8U);
  answer(bulk(Packer().u8(6).number(100 * kSecond).take()));
  EXPECT_EQ(keys_asked_for(), 8U);
  grant(50, 2);
  release(*ledger_.held_bundle(events_.events.at(0).hold));
  EXPECT_EQ(keys_asked_for(), 2U);
  const std::string not_plain = Packer().u8(5).number(100 * kSecond).number(0).take();
  answer(bulk(not_plain + not_plain));
  EXPECT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(keys_asked_for(), 8U);
  answer(bulk(left() + left()));
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].status.code, BELAY_OK);
  EXPECT_TRUE(ledger_.claims.empty());
}

// A server that calls nothing plain is not asked for ever.
TEST_F(ABundle, IsNotLeftWithoutEnd) {
  release(got());
  const std::string not_plain = Packer().u8(5).number(100 * kSecond).number(0).take();
  answer(bulk(not_plain + not_plain));
  asked();
  answer(bulk(not_plain + not_plain));
  EXPECT_EQ(asked(), Calls{});
}

TEST_F(ABundle, IsLeftSlotBySlot) {
  apart_ = true;
  acquire({"a", "b"}, kNever);
  grant(50);
  grant(60);
  asked();
  release(*ledger_.held_bundle(events_.events.at(0).hold));
  const Calls left = asked();
  EXPECT_EQ(left.size(), 2U);
  EXPECT_EQ(left.at(0).size() + left.at(1).size(), 2U);
}

// One bad key does not keep the others.
TEST_F(ABundle, IsLeftNameByNameWhereOneCommandFails) {
  release(got());
  asked();
  answer("-WRONGTYPE 'b' is none of ours\r\n");
  EXPECT_EQ(asked(), (Calls{"a", "b"}));
  answer(bulk(left()));
  EXPECT_TRUE(events_.events.empty());
  answer("-WRONGTYPE 'b' is none of ours\r\n");
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].kind, BELAY_EVENT_RELEASED);
  EXPECT_EQ(events_.events[0].status.code, BELAY_WRONG_TYPE);
}

// ---- Until all are had

TEST_F(ABundle, GoesBackWhereItsAcquireEnds) {
  apart_ = true;
  acquire({"a", "b"}, kNever);
  grant(50);
  asked();
  outcomes_.complete(*ledger_.pending(1), Status(BELAY_CANCELLED));
  finish();
  EXPECT_EQ(asked().size(), 2U);
  EXPECT_TRUE(ledger_.bundles.empty());
  EXPECT_TRUE(ledger_.holds.empty());
  EXPECT_TRUE(ledger_.pendings.empty());
}

// The server may carry it out after the connection has broken, which is not known yet.
TEST_F(ABundle, IsInDoubtForAsLongAsARenewalOnItsWayMayLast) {
  acquire({"a", "b"}, kNever);
  refuse();
  grant(50);
  now_ += 5 * kSecond;
  watchdog_.want(claim("a"));
  watchdog_.flush();
  const Bundle& bundle = *ledger_.bundles.begin()->second;
  const Micros until = bundles_.doubt_of(bundle).value();
  EXPECT_GE(until, now_ + config_.request_timeout + config_.watchdog_lease);
  EXPECT_EQ(until, claim("a").held.renewed_until);
}

TEST_F(ABundle, IsTakenAnewWhereANameIsLostBeforeAllAreHad) {
  apart_ = true;
  acquire({"a", "b"}, kNever);
  const Calls tried = asked();
  grant(50);
  lose(tried.at(0));
  EXPECT_TRUE(events_.events.empty());  // nobody was told that it was had
  const Calls calls = asked();
  EXPECT_EQ(calls.back(), "a");
  EXPECT_EQ(ledger_.bundles.begin()->second->stage, BundleStage::kTaking);
}

// Whoever holds a name with others hears the fence that they share it under by then.
TEST_F(ABundle, HasTheFenceThatANameGotBeforeAllWereHad) {
  apart_ = true;
  AcquireRequest request;
  request.primitive = &lock_;
  Want shared;
  shared.group = kReaders;
  request.names = {{"a", shared}, {"b", shared}};
  bundles_.acquire(1, request, kNever);
  finish();
  const std::string first = asked().at(0);
  grant(50);
  Claim& had = claim(first);
  had.held.next_fence = 52;
  course_.on_verdict(
      {Verdict::Kind::kOurs, &had, had.held.deadline, had.held.lease, kReaders, 0, ""});
  grant(60);
  ASSERT_EQ(events_.events.size(), 1U);
  const Calls names{"a", "b"};
  const std::size_t place = names[0] == first ? 0 : 1;
  EXPECT_EQ(events_.events[0].fences.at(place), 51);
  EXPECT_EQ(events_.events[0].fences.at(1 - place), 60);
}

TEST_F(ABundle, ThatIsOnlyTriedIsBusyWhereANameIsLostBeforeAllAreHad) {
  apart_ = true;
  acquire({"a", "b"}, 0);
  const Calls tried = asked();
  grant(50);
  lose(tried.at(0));
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_BUSY);
  EXPECT_EQ(events_.events[0].status.message, "a name was lost before all were acquired");
}

TEST_F(ABundle, EndsWithItsWaitBeforeTheNextNameIsAskedFor) {
  acquire({"a", "b"}, 300 * kMillisecond);
  asked();
  now_ += 300 * kMillisecond;
  refuse();
  EXPECT_EQ(asked(), Calls{});
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].status.code, BELAY_TIMEOUT);
  EXPECT_EQ(events_.events[0].status.message, "the wait of 300 ms for 'a' has ended");
}

TEST_F(ABundle, CountsAFixedLeaseFromWhenAllAreHad) {
  acquire({"a", "b"}, kNever, 6 * kSecond);
  refuse();
  grant(50);
  const Hold& first = *claim("a").holds.front();
  const Pending& lead = *ledger_.pending(1);
  EXPECT_EQ(lead.timer.at, now_ + 2 * kSecond);
  now_ = lead.timer.at;
  bundles_.on_lead_due(lead);
  finish();
  EXPECT_EQ(first.ends_at, now_ + 6 * kSecond);
  EXPECT_TRUE(claim("a").renew_due);
  now_ += kSecond;
  grant(60);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(first.ends_at, now_ + 6 * kSecond);
}

// What its owner has entered again for longer is not shortened when the rest of it comes.
TEST_F(ABundle, KeepsALeaseThatItsOwnerHasProlongedBeforeAllAreHad) {
  AcquireRequest request;
  request.primitive = &lock_;
  request.names = {{"a", Want()}, {"b", Want()}};
  request.owner = 7;
  request.lease = kSecond;
  bundles_.acquire(1, request, kNever);
  finish();
  refuse();
  grant(50);
  request.names.clear();
  request.name = "a";
  request.lease = 9 * kSecond;
  course_.place(course_.add_acquire(2, request, 0));
  finish();
  const Micros until = now_ + 9 * kSecond;
  now_ += 300 * kMillisecond;
  bundles_.on_lead_due(*ledger_.pending(1));
  finish();
  EXPECT_EQ(claim("a").holds.front()->ends_at, until);
  grant(60);
  ASSERT_EQ(events_.events.size(), 2U);
  for (const char* const name : {"a", "b"}) {
    EXPECT_EQ(claim(name).holds.front()->ends_at, until);
  }
}

// ---- Held

// By the name that it has alone, and for all of them.
TEST_F(ABundle, LastsAsLongAsANameOfItThatItsOwnerHasEnteredAgain) {
  AcquireRequest request;
  request.primitive = &lock_;
  request.names = {{"a", Want()}, {"b", Want()}};
  request.owner = 7;
  request.lease = kSecond;
  bundles_.acquire(1, request, kNever);
  finish();
  grant(50, 2);
  asked();
  request.names.clear();
  request.name = "b";
  request.lease = 9 * kSecond;
  course_.place(course_.add_acquire(2, request, 0));
  finish();
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_TRUE(events_.events[1].status.ok());
  for (const char* const name : {"a", "b"}) {
    EXPECT_EQ(claim(name).holds.front()->ends_at, now_ + 9 * kSecond);
    EXPECT_TRUE(claim(name).renew_due);
  }
}

TEST_F(ABundle, IsLostOnceWithTheFirstOfItsNames) {
  Bundle& bundle = got();
  lose("b");
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].kind, BELAY_EVENT_LOST);
  EXPECT_EQ(events_.events[0].hold, bundle.id);
  EXPECT_EQ(events_.events[0].remaining, 0);
  EXPECT_EQ(asked(), (Calls{"b", "a"}));  // the other one goes back
  EXPECT_EQ(ledger_.metrics.lost, 1);
  ledger_.want_step(bundle);
  finish();
  EXPECT_EQ(events_.events.size(), 1U);
  release(bundle);
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].status.code, BELAY_LOST);
  EXPECT_TRUE(ledger_.bundles.empty());
}

TEST_F(ABundle, IsAtRiskFromTheFirstOfItsNamesToTheLast) {
  const Bundle& bundle = got();
  warn("a", true);
  warn("b", true);
  warn("a", false);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].kind, BELAY_EVENT_AT_RISK);
  EXPECT_EQ(events_.events[0].status.message, "a");
  EXPECT_EQ(events_.events[0].fences, bundle.fences());
  EXPECT_GT(events_.events[0].remaining, 0);
  warn("b", false);
  ASSERT_EQ(events_.events.size(), 2U);
  EXPECT_EQ(events_.events[1].kind, BELAY_EVENT_RECOVERED);
}

TEST_F(ABundle, HasWhatTheNameThatEndsFirstHas) {
  const Bundle& bundle = got();
  claim("b").held.deadline = now_ + kSecond;
  EXPECT_EQ(bundles_.remaining_of(bundle), kSecond);
  now_ += 2 * kSecond;
  EXPECT_EQ(bundles_.remaining_of(bundle), 0);
}

TEST_F(ABundle, IsVerifiedNameByNameAndAnsweredOnce) {
  Bundle& bundle = got();
  bundles_.ask_about(2, bundle, PendingKind::kVerify, 0);
  EXPECT_EQ(asked(), (Calls{"a", "b"}));
  claim("b").held.deadline = now_ + kSecond;
  renew(1);
  EXPECT_TRUE(events_.events.empty());
  renew(1);
  ASSERT_EQ(events_.events.size(), 1U);
  EXPECT_EQ(events_.events[0].kind, BELAY_EVENT_VERIFIED);
  EXPECT_TRUE(events_.events[0].status.ok());
  EXPECT_EQ(events_.events[0].fences, bundle.fences());
  EXPECT_EQ(events_.events[0].remaining, kSecond);
}

TEST_F(ABundle, OfWhichANameIsGoneIsVerifiedAsLost) {
  Bundle& bundle = got();
  bundles_.ask_about(2, bundle, PendingKind::kVerify, 0);
  renew(1);
  renew(2);
  ASSERT_EQ(events_.events.size(), 2U);
  for (const Event& event : events_.events) {
    EXPECT_EQ(event.status.code, BELAY_LOST);
  }
}

TEST_F(ABundle, IsLetGoWithoutAnEvent) {
  Bundle& bundle = got();
  EXPECT_TRUE(bundles_.let_go(bundle).ok());
  EXPECT_EQ(asked(), Calls{"ab"});
  EXPECT_TRUE(events_.events.empty());
  EXPECT_TRUE(ledger_.bundles.empty());
  EXPECT_EQ(ledger_.metrics.releases, 1);
}

TEST_F(ABundle, KeepsItsNamesWhereItIsAbandoned) {
  Bundle& bundle = got();
  bundles_.abandon(bundle);
  finish();
  EXPECT_EQ(asked(), Calls{});
  EXPECT_TRUE(ledger_.bundles.empty());
  EXPECT_EQ(ledger_.abandoned.size(), 2U);
}

// Each of them may have waiters to be served.
TEST_F(ABundle, OfManyNamesIsLeftByCommandsOfABoundedSize) {
  std::vector<std::string> names;
  for (int i = 0; i < 70; ++i) {
    names.push_back("name" + std::to_string(i));
  }
  acquire(names, kNever);
  grant(50, 70);
  sent();
  release(*ledger_.held_bundle(events_.events.at(0).hold));
  EXPECT_EQ(sent("EVAL").size(), 3U);  // 32, 32, 6
}

TEST_F(ABundle, IsAnsweredByNothingThatTheScriptDoesNotGive) {
  const auto reads = [this](const std::string& packed, std::size_t count) {
    bool read = false;
    ReplyReader reader;
    EXPECT_EQ(reader.feed(bulk(packed),
                          [&](Reply reply) {
                            read = dialect_.read_acquire_all(reply, count).has_value();
                            return true;
                          }),
              "");
    return read;
  };
  const std::string granted = Packer().u8(1).number(1000).number(5).number(13).u8(0).take();
  EXPECT_TRUE(reads(granted, 1));
  EXPECT_FALSE(reads(granted, 2));
  EXPECT_FALSE(reads(granted + "x", 1));
  EXPECT_FALSE(reads(granted.substr(1), 1));
  EXPECT_FALSE(reads(Packer().u8(1).number(1000).number(5).number(4).u8(0).take(), 1));
  EXPECT_TRUE(reads(Packer().u8(6).number(1000).take(), 1));
  EXPECT_FALSE(reads(Packer().u8(2).number(1000).take(), 1));
  EXPECT_FALSE(reads(Packer().u8(7).number(1000).take(), 1));
}

}  // namespace
}  // namespace belay
