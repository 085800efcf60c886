// Waits for a latch: whom the end of a generation lets pass. Those of one client share a claim, and
// the server keeps one place for them: they wait for the generation that runs. Who asks for a given
// generation joins them once the server has said that this one runs.
#include <algorithm>

#include "engine/engine.h"

namespace belay {

void Engine::acquire_generation(Pending& pending, const AcquireRequest& request, Micros now) {
  pending.primitive = request.primitive;
  pending.name = request.name;
  ask_about_generation(pending, now);
}

void Engine::ask_about_generation(Pending& pending, Micros now) {
  pending.query = pending.primitive->generation_query(pending.name, pending.want.generation);
  pending.event = outcome(pending, Status());
  pending.reach_by = pending.wait_until == kNever ? kNever : now + config_.request_timeout;
  timers_.set(pending.timer, pending.reach_by);
  const Node& node = node_for(pending);
  if (node.refused()) {
    complete(pending, node.trouble(), now);
  } else {
    send_query(pending, now);
  }
}

// The server has said that it runs.
void Engine::wait_for_generation(Pending& pending, Micros now) {
  pending.query = nullptr;
  if (pending.is_try) {
    complete(pending, Status(BELAY_BUSY), now);
    return;
  }
  pending.claim = &claim_of(*pending.primitive, pending.name);
  place_acquire(pending, now);
}

// It is another one that runs, or has ended.
void Engine::send_off_others(Claim& claim, std::int64_t generation, Micros now) {
  for (Pending* pending : std::vector<Pending*>(claim.waiting.begin(), claim.waiting.end())) {
    if (pending->want.generation != 0 && pending->want.generation != generation) {
      claim.waiting.erase(pending->place);
      pending->waits = false;
      pending->claim = nullptr;
      ask_about_generation(*pending, now);
    }
  }
}

// Those who wait for what the server has answered about. Who came later may mean what began later,
// unless it says which generation it means. `generation`: 0 if the answer was about none.
std::vector<Pending*> Engine::concerned(const Claim& claim, std::int64_t generation) {
  std::vector<Pending*> list(claim.waiting.begin(), claim.waiting.end());
  if (claim.primitive->lets_pass()) {
    const std::uint64_t to = claim.generation != 0 ? claim.known_to : claim.asked_to;
    std::erase_if(list, [to, generation](const Pending* pending) {
      const std::int64_t wanted = pending->want.generation;
      return wanted == 0 ? pending->order > to : generation != 0 && wanted != generation;
    });
  }
  return list;
}

// There is nothing to hold: whoever waited for that generation goes on.
void Engine::let_pass(Claim& claim, std::int64_t generation, Micros now) {
  send_off_others(claim, generation, now);
  for (Pending* pending : concerned(claim, generation)) {
    Event event = outcome(*pending, Status());
    event.generation = generation;
    complete(*pending, std::move(event), now);
  }
  end_claim(claim, false, 0, now);
}

// Where it is not the generation that is waited for, or it has not been opened, the server knows.
void Engine::on_passed(Claim& claim, const Message& message, Micros now) {
  if (message.opened && message.generation == claim.generation) {
    let_pass(claim, message.generation, now);
  } else {
    ask(claim, now);
  }
}

}  // namespace belay
