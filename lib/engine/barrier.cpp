#include "engine/barrier.h"

#include "engine/course.h"
#include "engine/operations.h"

namespace belay {

void Barrier::acquire(std::int64_t tag, const AcquireRequest& request, Micros wait) {
  Pending& pending = course_.add_acquire(tag, request, wait);
  if (request.want.generation != 0) {
    ask(pending);
  } else {
    join(pending);
  }
}

// Whether the generation that it is for runs.
void Barrier::ask(Pending& pending) {
  pending.query = pending.primitive->generation_query(pending.name, pending.want.generation);
  pending.event = outcomes_.outcome(pending, Status());
  const Node& node = ledger_.node_for(pending);
  pending.reach_by = timing_.reach_by(node, pending);
  ledger_.timers.set(pending.timer, pending.reach_by);
  if (node.refused()) {
    outcomes_.complete(pending, node.trouble());
  } else {
    operations_.send(pending);
  }
}

void Barrier::wait(Pending& pending) {
  pending.query = nullptr;
  if (pending.is_try) {
    outcomes_.complete(pending, Status(BELAY_BUSY));
    return;
  }
  pending.claim = &ledger_.claim_of(*pending.primitive, pending.name);
  join(pending);
}

void Barrier::join(Pending& pending) {
  Claim& claim = *pending.claim;
  if (claim.node().refused()) {
    outcomes_.complete(pending, claim.node().trouble());
  } else {
    course_.line_up(claim, pending);
    if (claim.state == ClaimState::kAsking) {
      course_.ask(claim);  // it may mean what has begun since the latest ask
    }
  }
  course_.reconcile(claim);
}

// It is another one that runs, or has ended.
void Barrier::send_off_others(Claim& claim, std::int64_t generation) {
  for (Pending* pending : std::vector<Pending*>(claim.waiting.begin(), claim.waiting.end())) {
    if (pending->want.generation != 0 && pending->want.generation != generation) {
      claim.waiting.erase(pending->place);
      pending->waits = false;
      pending->claim = nullptr;
      ask(*pending);
    }
  }
}

void Barrier::let_pass(Claim& claim, std::int64_t generation) {
  send_off_others(claim, generation);
  for (Pending* pending : claim.concerned(generation)) {
    Event event = outcomes_.outcome(*pending, Status());
    event.generation = generation;
    outcomes_.complete(*pending, std::move(event));
  }
  course_.end(claim, false, {});
}

// Where it is not the generation that is waited for, or it has not been opened, the server knows.
void Barrier::on_passed(Claim& claim, const Message& message) {
  if (message.opened && message.generation == claim.asking.generation) {
    let_pass(claim, message.generation);
  } else {
    course_.ask(claim);
  }
}

}  // namespace belay
