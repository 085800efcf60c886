#include "hammer/actor.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "hammer/calls.h"

namespace belay::hammer {

namespace {

constexpr std::int64_t kLongestWait = 2000;  // ms
constexpr std::int64_t kLate = 1000;         // ms after its end in which a wait must be answered
constexpr std::int64_t kNestedWait = 200;    // of who keeps others waiting meanwhile

struct FreeRequest {
  void operator()(belay_request* request) const { belay_request_free(request); }
};

using Request = std::unique_ptr<belay_request, FreeRequest>;

void sleep_us(std::int64_t us) {
  std::this_thread::sleep_for(std::chrono::microseconds(us));
}

}  // namespace

Random::Random(std::uint64_t seed, std::int64_t actor, std::int64_t step)
    : state_(seed * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(actor) * 0xD1B54A32D192ED03U +
             static_cast<std::uint64_t>(step) * 0x8CB92BA72F3D8DD7U) {}

std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15U;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
  return mixed ^ (mixed >> 31U);
}

std::int64_t Random::below(std::int64_t limit) {
  return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(limit));
}

// ---- Calls

Outcome Actor::run(Random& random, const Call& call, std::int64_t cancel_ms) {
  static constexpr std::int64_t kPatiences[] = {-1, 0, 1, 20};
  const std::int64_t way = cancel_ms < 0 ? random.below(4) : 3;
  const std::int64_t patience_ms = kPatiences[random.below(4)];
  since_ = now_ms();
  doing_ = call.what;
  Outcome outcome = way < 2                              ? life_->block(call)
                    : way == 2 && call.within != nullptr ? life_->within(call, patience_ms)
                                                         : life_->submit(call, cancel_ms);
  doing_ = "nothing";
  return outcome;
}

void Actor::expect(const Call& call, const Outcome& outcome,
                   std::initializer_list<std::int32_t> allowed) {
  const bool ended = outcome.gone || (life_->closing() && (outcome.status == BELAY_CLOSED ||
                                                           outcome.status == BELAY_UNKNOWN_HOLD ||
                                                           outcome.status == BELAY_LOST));
  const bool fine = std::find(allowed.begin(), allowed.end(), outcome.status) != allowed.end();
  if (!ended && !fine) {
    report_.violation(call.what, "actor " + std::to_string(number_) + " step " +
                                     std::to_string(steps_) + ": " +
                                     belay_status_name(outcome.status) + " " + outcome.message);
  }
}

// Of what is done with a hold: it may be lost, for a reason.
void Actor::expect_held(const Call& call, const Outcome& outcome, std::int64_t hold,
                        std::initializer_list<std::int32_t> allowed) {
  if (!outcome.gone && outcome.status == BELAY_LOST && !life_->closing()) {
    witness_.lost(hold, outcome.message, false);
    return;
  }
  if (outcome.status != BELAY_OK) {
    expect(call, outcome, allowed);
  }
}

// ---- Acquires

Actor::Ask Actor::ask_for_locks(Random& random) {
  Ask ask;
  const std::int64_t count = random.one_in(5) ? 2 + random.below(2) : 1;
  std::int64_t at = random.below(kLocks.size());
  const std::int64_t mode = random.below(8);
  for (std::int64_t i = 0; i < count; ++i, at = (at + 1 + random.below(2)) % 4) {
    const std::string& name = kLocks.at(static_cast<std::size_t>(at));
    if (std::find(ask.held.names.begin(), ask.held.names.end(), name) != ask.held.names.end()) {
      continue;
    }
    const bool reads = count == 1 ? mode < 3 : random.one_in(3);
    ask.held.names.push_back(name);
    ask.held.groups.emplace_back(reads ? "r" : count == 1 && mode == 3 ? "one" : "");
    if (count == 1 && mode == 4) {
      ask.held.groups.back() = "two";
    }
  }
  ask.held.owner = random.one_in(2) ? number_ + 1 : 0;
  ask.delay_ms = random.one_in(6) ? 20 : 0;
  return ask;
}

Actor::Ask Actor::ask_for_permits(Random& random) {
  Ask ask;
  const bool fixed = random.one_in(2);
  ask.held.names = {fixed ? kFixed : kMoving};
  ask.held.groups = {""};
  ask.held.limit = fixed ? kFixedLimit : kMostPermits;
  ask.permits = 1 + random.below(3);
  ask.limit = fixed ? kFixedLimit : 0;
  ask.delay_ms = random.one_in(10) ? 20 : 0;
  return ask;
}

bool Actor::acquire(Random& random, Ask& ask) {
  const bool permits = ask.permits > 0;
  Request request(belay_request_new(permits ? BELAY_SEMAPHORE : BELAY_LOCK));
  for (std::size_t i = 0; i < ask.held.names.size(); ++i) {
    const char* const name = ask.held.names[i].c_str();
    if (ask.held.groups[i] == "r") {
      belay_request_add_shared_name(request.get(), name, -1);
    } else {
      belay_request_add_name(request.get(), name, -1);
    }
  }
  if (permits) {
    belay_request_set_permits(request.get(), ask.permits, ask.limit);
  } else if (ask.held.groups[0].size() > 1) {
    belay_request_set_identity(request.get(), ask.held.groups[0].c_str(), -1);
  }
  belay_request_set_lease_ms(request.get(), ask.lease_ms);
  belay_request_set_lock_delay_ms(request.get(), ask.delay_ms);
  belay_request_set_notify(request.get(), 1);
  ask.held.life = life_.get();
  ask.held.breaks = witness_.breaks_of(ask.held.names);
  ask.held.called_at = now_ms();
  const Call call = acquire_call(request.get(), ask.held.owner, ask.wait_ms);
  const Outcome outcome = run(random, call, ask.cancels ? random.below(30) : -1);
  report_.count(outcome.gone ? "gone" : belay_status_name(outcome.status));
  if (outcome.gone || outcome.status != BELAY_OK) {
    check_acquired(call, ask, outcome);
    return false;
  }
  ask.held.id = outcome.hold;
  ask.held.fences = outcome.fences;
  ask.held.permits = permits ? outcome.permits : 0;
  if (ask.lease_ms > 0) {
    ask.held.fixed_until = ask.held.called_at + ask.lease_ms - ask.lease_ms / 100 - 15;
  }
  if (outcome.fences.size() != ask.held.names.size() ||
      (permits && outcome.permits != ask.permits)) {
    report_.violation(call.what, "granted other than asked for");
    return false;
  }
  witness_.granted(ask.held);
  return true;
}

void Actor::check_acquired(const Call& call, const Ask& ask, const Outcome& outcome) {
  const std::int32_t waited = ask.wait_ms == 0 ? BELAY_BUSY : BELAY_TIMEOUT;
  const std::int32_t cancelled = ask.cancels ? BELAY_CANCELLED : waited;
  const std::int32_t nested = ask.nested ? BELAY_WOULD_DEADLOCK : waited;
  const std::int32_t limit = ask.permits > 0 && ask.limit == 0 ? BELAY_LIMIT_DIFFERS : waited;
  expect(call, outcome, {waited, cancelled, nested, limit});
  const std::int64_t took = now_ms() - ask.held.called_at;
  if (!outcome.gone && took > ask.wait_ms + kLate * scale()) {
    report_.violation(call.what, "a wait of " + std::to_string(ask.wait_ms) + " ms took " +
                                     std::to_string(took) +
                                     " ms: " + belay_status_name(outcome.status));
  }
}

// ---- While it is held

void Actor::extend(Random& random, const Ask& ask) {
  const std::int64_t called_at = now_ms();
  const std::int64_t lease_ms = 100 + random.below(600);
  const Call call = extend_call(ask.held.id, lease_ms);
  const Outcome outcome = run(random, call);
  expect_held(call, outcome, ask.held.id);
  if (!outcome.gone && outcome.status == BELAY_OK) {
    witness_.extends(ask.held.id, called_at, lease_ms);
  }
}

void Actor::downgrade(Random& random, const Ask& ask) {
  witness_.downgrades(ask.held.id);
  const Call call = downgrade_call(ask.held.id);
  const Outcome outcome = run(random, call);
  expect_held(call, outcome, ask.held.id);
  report_.count("downgrades");
}

void Actor::nest(Random& random, const Ask& ask) {
  Ask inner;
  const bool same = ask.held.owner != 0 && ask.permits == 0 && !random.one_in(3);
  if (same) {
    inner.held.names = {ask.held.names[0]};
    inner.held.groups = {random.one_in(2) ? "r" : ask.held.groups[0]};
  } else {
    inner = random.one_in(2) ? ask_for_locks(random) : ask_for_permits(random);
  }
  inner.held.owner = ask.permits == 0 && inner.permits == 0 ? ask.held.owner : 0;
  inner.wait_ms = random.one_in(2) ? 0 : random.below(kNestedWait) + 1;
  inner.nested = true;
  if (acquire(random, inner)) {
    report_.count("nested");
    sleep_us(random.below(1000));
    give_back(random, inner);
  }
}

void Actor::write(Random& random, const Ask& ask) {
  const std::size_t at =
      static_cast<std::size_t>(random.below(static_cast<std::int64_t>(ask.held.names.size())));
  const auto lock = std::find(kLocks.begin(), kLocks.end(), ask.held.names[at]);
  Writes& writes = writes_.at(static_cast<std::size_t>(lock - kLocks.begin()));
  const Call call = write_call("written:" + *lock, ask.held.fences[at], increment_.get());
  const Outcome outcome = run(random, call);
  if (outcome.gone || outcome.status == BELAY_CLOSED) {
    ++writes.unknown;
  } else if (outcome.status == BELAY_OK) {
    ++writes.done;
  } else if (outcome.status != BELAY_STALE_FENCE || witness_.stands(ask.held.id)) {
    expect(call, outcome, {});
  }
}

void Actor::keep(Random& random, const Ask& ask) {
  const bool alone = ask.permits == 0 && ask.held.names.size() == 1 && ask.held.groups[0].empty();
  for (std::int64_t acts = random.below(4); acts > 0; --acts) {
    const std::int64_t act = random.below(7);
    if (act == 0) {
      const Call call = verify_call(ask.held.id);
      expect_held(call, run(random, call), ask.held.id);
    } else if (act == 1 && ask.lease_ms > 0) {
      extend(random, ask);
    } else if (act == 2) {
      nest(random, ask);
    } else if (act <= 4 && ask.permits == 0) {
      write(random, ask);
    } else {
      sleep_us(random.one_in(20) ? random.below(50000) : random.below(2000));
    }
  }
  if (alone && random.one_in(4)) {
    downgrade(random, ask);
    sleep_us(random.below(3000));
  }
}

void Actor::give_back(Random& random, const Ask& ask) {
  const std::int64_t id = ask.held.id;
  if (ask.lease_ms > 0 && random.one_in(40)) {
    witness_.parts(id);
    life_->abandon(id);
    report_.count("abandoned");
    return;
  }
  if (ask.lease_ms > 0 && random.one_in(40)) {
    sleep_us((ask.lease_ms + 5) * 1000);  // its lease ends meanwhile
  }
  witness_.parts(id);
  const Call call = release_call(id);
  if (random.one_in(4)) {
    expect_held(call, life_->block(release_nowait_call(id)), id);
  } else {
    expect_held(call, run(random, call), id);
  }
  if (random.one_in(20)) {
    const Outcome again = run(random, call);
    expect(call, again, {BELAY_UNKNOWN_HOLD});
  }
}

// ---- Steps

void Actor::hold(Random& random) {
  Ask ask = random.one_in(4) ? ask_for_permits(random) : ask_for_locks(random);
  ask.lease_ms = random.one_in(6) ? 100 + random.below(400) : 0;
  const std::int64_t way = random.below(4);
  ask.wait_ms = way == 0 ? 0 : way == 1 ? 1 + random.below(20) : 1 + random.below(kLongestWait);
  ask.cancels = random.one_in(6);
  if (acquire(random, ask)) {
    keep(random, ask);
    give_back(random, ask);
  }
}

void Actor::look(Random& random) {
  const std::int64_t way = random.below(4);
  const Call call = way == 0   ? list_call()
                    : way == 1 ? available_call(random.one_in(2) ? kFixed : kMoving)
                               : inspect_call(kLocks.at(static_cast<std::size_t>(random.below(4))));
  expect(call, run(random, call), {BELAY_OK});
}

void Actor::await_latch(Random& random) {
  Request request(belay_request_new(BELAY_LATCH));
  belay_request_add_name(request.get(), kLatch.c_str(), -1);
  const std::int64_t given = random.one_in(3) ? generation_ : 0;
  belay_request_set_generation(request.get(), given);
  const std::int64_t wait_ms = random.one_in(4) ? 0 : 1 + random.below(300);
  const bool cancels = random.one_in(4);
  const Call call = acquire_call(request.get(), 0, wait_ms);
  const Outcome outcome = run(random, call, cancels ? random.below(30) : -1);
  expect(call, outcome,
         {BELAY_OK, BELAY_NOT_FOUND, wait_ms == 0 ? BELAY_BUSY : BELAY_TIMEOUT,
          cancels ? BELAY_CANCELLED : BELAY_OK});
  if (!outcome.gone && outcome.status == BELAY_OK && given != 0 && outcome.generation != given) {
    report_.violation(call.what, "passed another generation than the given one");
  }
  report_.count("awaited");
}

void Actor::use_latch(Random& random) {
  const std::int64_t way = random.below(8);
  if (way < 3) {
    await_latch(random);
    return;
  }
  const Call call = way == 3  ? latch_set_call(1 + random.below(3), random.one_in(3) ? 200 : 0)
                    : way < 7 ? latch_down_call(1)
                              : latch_count_call();
  const Outcome outcome = run(random, call);
  expect(call, outcome, {BELAY_OK, way == 3 ? BELAY_IN_USE : BELAY_NOT_FOUND});
  if (outcome.generation != 0) {
    generation_ = outcome.generation;
  }
}

void Actor::break_something(Random& random) {
  const std::int64_t which = random.below(7);
  const std::string name = which == 6   ? kLatch
                           : which == 5 ? kMoving
                           : which == 4 ? kFixed
                                        : kLocks.at(static_cast<std::size_t>(which));
  witness_.begin_break(name);
  const Call call = break_call(name);
  const Outcome outcome = run(random, call);
  witness_.end_break(name);
  expect(call, outcome, {BELAY_OK});
  report_.count("breaks");
}

void Actor::change_limit(Random& random) {
  const Call call = limit_call(kMoving, 2 + random.below(kMostPermits - 1));
  expect(call, run(random, call), {BELAY_OK});
  report_.count("limits");
}

void Actor::step() {
  Random random(seed_, number_, ++steps_);
  const std::int64_t place = random.below(places_);
  life_ = clients_.at(place);
  const std::int64_t way = random.below(1000);
  if (way < 700) {
    hold(random);
  } else if (way < 800) {
    use_latch(random);
  } else if (way < 880) {
    look(random);
  } else if (way < 940) {
    change_limit(random);
  } else if (way < 942) {
    break_something(random);
  } else if (way < 944) {
    clients_.replace(place, random.one_in(2));
  } else {
    sleep_us(random.below(2000));
  }
}

}  // namespace belay::hammer
