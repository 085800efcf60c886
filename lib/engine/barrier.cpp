#include "engine/barrier.h"

#include "engine/course.h"
#include "engine/operations.h"

namespace belay {

void Barrier::acquire(std::int64_t tag, const AcquireRequest& request, Micros wait, Micros now) {
  Pending& pending = course_.add_acquire(tag, request, wait, now);
  if (request.want.generation != 0) {
    ask(pending, now);
  } else {
    join(pending, now);
  }
}

// Whether the generation that it is for runs.
void Barrier::ask(Pending& pending, Micros now) {
  pending.query = pending.primitive->generation_query(pending.name, pending.want.generation);
  pending.event = outcomes_.outcome(pending, Status());
  const Node& node = ledger_.node_for(pending);
  pending.reach_by = timing_.reach_by(node, pending, now);
  ledger_.timers.set(pending.timer, pending.reach_by);
  if (node.refused()) {
    outcomes_.complete(pending, node.trouble(), now);
  } else {
    operations_.send(pending, now);
  }
}

void Barrier::wait(Pending& pending, Micros now) {
  pending.query = nullptr;
  if (pending.is_try) {
    outcomes_.complete(pending, Status(BELAY_BUSY), now);
    return;
  }
  pending.claim = &ledger_.claim_of(*pending.primitive, pending.name);
  join(pending, now);
}

void Barrier::join(Pending& pending, Micros now) {
  Claim& claim = *pending.claim;
  if (claim.node->refused()) {
    outcomes_.complete(pending, claim.node->trouble(), now);
  } else {
    course_.line_up(claim, pending, now);
    if (claim.state == ClaimState::kAsking) {
      course_.ask(claim, now);  // it may mean what has begun since the latest ask
    }
  }
  course_.reconcile(claim, now);
}

// It is another one that runs, or has ended.
void Barrier::send_off_others(Claim& claim, std::int64_t generation, Micros now) {
  for (Pending* pending : std::vector<Pending*>(claim.waiting.begin(), claim.waiting.end())) {
    if (pending->want.generation != 0 && pending->want.generation != generation) {
      claim.waiting.erase(pending->place);
      pending->waits = false;
      pending->claim = nullptr;
      ask(*pending, now);
    }
  }
}

void Barrier::let_pass(Claim& claim, std::int64_t generation, Micros now) {
  send_off_others(claim, generation, now);
  for (Pending* pending : claim.concerned(generation)) {
    Event event = outcomes_.outcome(*pending, Status());
    event.generation = generation;
    outcomes_.complete(*pending, std::move(event), now);
  }
  course_.end(claim, false, {}, now);
}

// Where it is not the generation that is waited for, or it has not been opened, the server knows.
void Barrier::on_passed(Claim& claim, const Message& message, Micros now) {
  if (message.opened && message.generation == claim.asking.generation) {
    let_pass(claim, message.generation, now);
  } else {
    course_.ask(claim, now);
  }
}

}  // namespace belay
