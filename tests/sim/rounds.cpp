#include "sim/rounds.h"

#include <cstdlib>
#include <iterator>
#include <optional>

#include "base/packing.h"
#include "dialect/keys.h"
#include "scripts/scripts.h"

namespace belay::sim {

namespace {

constexpr std::size_t kClientSize = 22;
constexpr std::size_t kClaimSize = 30;

bool calls(Server::Args argv, const Script& script) {
  return argv.size() > 2 && (argv[1] == script.sha1 || argv[1] == script.body);
}

// The first argument of a call: behind EVALSHA, the script, how many keys, and these.
std::string_view first_argument(Server::Args argv) {
  return argv[3 + std::strtoull(std::string(argv[2]).c_str(), nullptr, 10)];
}

}  // namespace

Rounds::Rounds(World& world, const Faults& faults, const std::string& name)
    : world_(world), faults_(faults), record_key_(key_of("belay:", 'r', name)) {}

Rounds::Latch Rounds::look() {
  const std::optional<std::string_view> bytes = world_.server_of(record_key_).text(record_key_);
  Unpacker fields(bytes.value_or(std::string_view()));
  Latch latch;
  fields.bytes(3);  // version, kind, 0
  latch.count = fields.number();
  fields.bytes(24);  // of its requests
  latch.generation = fields.number();
  latch.opened_since = fields.number();
  const Micros expires = fields.number();
  latch.stands = fields.complete() &&
                 (expires == 0 || expires >= world_.server_time(world_.host_of(record_key_)));
  return latch;
}

void Rounds::before_script() {
  before_ = look();
}

void Rounds::after_script(Server::Args argv) {
  const Latch after = look();
  if (after.stands) {
    begun_.insert(after.generation);
  }
  if (after.stands && after.count == 0) {
    opened_.insert(after.generation);
  }
  if (!before_.stands || !after.stands) {
    missing_until_ = world_.now();
  }
  check_count(argv, after);
  check_set(argv, after);
  check_time(argv, after);
}

// A change whose caller was told, or that it may take place until then.
void Rounds::check_time(Server::Args argv, const Latch& after) {
  const bool changed = before_.generation != after.generation || before_.count != after.count;
  const bool change = calls(argv, scripts::kLatchDown) || calls(argv, scripts::kLatchSet);
  if (!change || !changed) {
    return;
  }
  Unpacker request(first_argument(argv));
  const int process = process_of(request.bytes(kClientSize));
  const auto over = over_since_.find({process, request.number()});
  if (over != over_since_.end() && world_.now() > over->second && !faults_.clock_back) {
    world_.violation("latch: a request of process " + std::to_string(process) +
                     " took effect after its end, or that of its doubt");
  }
}

void Rounds::check_count(Server::Args argv, const Latch& after) {
  const bool same = before_.stands && after.stands && before_.generation == after.generation;
  if (!same || before_.count == after.count) {
    return;
  }
  if (!calls(argv, scripts::kLatchDown) || after.count > before_.count) {
    world_.violation("latch: the count went from " + std::to_string(before_.count) + " to " +
                     std::to_string(after.count) + " without a count-down");
    return;
  }
  const std::string request(first_argument(argv).substr(0, kClaimSize));
  if (!counted_.insert(request).second && !faults_.data_loss) {
    world_.violation("latch: a count-down counted twice");
  }
}

void Rounds::check_set(Server::Args argv, const Latch& after) {
  if (!after.stands || before_.generation == after.generation) {
    return;
  }
  if (!calls(argv, scripts::kLatchSet)) {
    world_.violation("latch: a generation began without being set");
    return;
  }
  const std::string request(first_argument(argv).substr(0, kClaimSize));
  if (!set_.insert(request).second && !faults_.data_loss) {
    world_.violation("latch: a request set it twice");
  }
}

std::int64_t Rounds::some_generation() {
  const std::int64_t current = look().generation;
  const std::int64_t kind = world_.random().between(1, 100);
  if (kind > 60 || opened_.empty()) {
    return current + (kind > 90 ? 1 : 0);
  }
  auto opened = opened_.begin();
  std::advance(opened, world_.random().between(0, static_cast<std::int64_t>(opened_.size()) - 1));
  return *opened;
}

void Rounds::awaits(const Process& process, std::int64_t tag, std::int64_t generation) {
  const Latch latch = look();
  if (!latch.stands) {
    missing_until_ = world_.now();
  }
  const bool known =
      generation == 0 || (generation >= latch.opened_since && generation <= latch.generation);
  waits_[{process.number(), tag}] = {world_.now(), latch.stands ? latch.generation : 0, generation,
                                     known};
}

void Rounds::on_event(const Process& process, const Event& event) {
  const bool change =
      event.kind == BELAY_EVENT_LATCH_SET || event.kind == BELAY_EVENT_LATCH_COUNTED_DOWN;
  if (change) {
    over_since_[{process.number(), event.tag}] =
        event.in_doubt > 0 ? process.true_time_of(event.status.in_doubt_until) : world_.now();
  }
  const auto found = waits_.find({process.number(), event.tag});
  if (found != waits_.end()) {
    const Wait wait = found->second;
    waits_.erase(found);
    check_end(wait, event);
  }
}

void Rounds::check_end(const Wait& wait, const Event& event) {
  const bool ok = event.status.ok();
  const std::string by = std::to_string(event.generation);
  // A number between two generations is none: it counts as the earlier ones do.
  // What was done at a master beside the new one is not seen here.
  const bool none =
      (wait.given != 0 && !begun_.contains(wait.given)) || world_.has_had_two_masters();
  if (ok && !none && !opened_.contains(event.generation)) {
    world_.violation("latch: a wait ended by generation " + by + ", which never opened");
  } else if (ok && wait.given != 0 && event.generation != wait.given) {
    world_.violation("latch: a wait for generation " + std::to_string(wait.given) +
                     " ended by generation " + by);
  } else if (ok && wait.given == 0 && event.generation < wait.generation && !faults_.data_loss) {
    world_.violation("latch: a wait ended by generation " + by + ", but began in " +
                     std::to_string(wait.generation));
  } else if (event.status.code == BELAY_NOT_FOUND && wait.known && missing_until_ < wait.since &&
             look().stands &&
             !faults_.data_loss) {  // else an older generation may be there instead
    world_.violation("latch: a wait ended with NOT_FOUND, but the latch was always there");
  }
}

}  // namespace belay::sim
