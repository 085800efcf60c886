// The commands that are out: what each is about, so that its reply finds its way, and so that a
// claim is not forgotten meanwhile. The engine owns it; used inside the client's monitor.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/claim.h"
#include "engine/pending_ref.h"
#include "route/command.h"
#include "route/node.h"

namespace belay {

enum class FlightKind : std::uint8_t { kAcquire, kLeave, kRenew, kWatch, kQuery };

// A claim as a command is about it: it may have begun another epoch since.
struct ClaimRef {
  Claim* claim = nullptr;
  std::int64_t epoch = 0;
  Micros lease = 0;  // that the command asks for
};

// A claim in a renewal, and what was asked for it.
struct Renewed {
  Claim* claim = nullptr;
  RenewArgs args;
};

// A command that is out.
struct Flight {
  FlightKind kind = FlightKind::kQuery;
  Node* node = nullptr;
  ServerTime not_after;  // of an acquire
  PendingRef pending;    // the submission that it answers
  std::vector<Renewed> renewed;
  std::vector<ClaimRef> refs;         // of an acquire or a leave
  std::vector<std::int64_t> watched;  // epochs
  bool in_vain = false;               // a leave of what nobody had
  bool detour = false;                // asked after ASK: where the slot is on its way to
  bool outdated = false;              // another server has said later that the name was broken

  // Where its answer says nothing of the present: its name may have changed on another server.
  [[nodiscard]] bool is_outdated() const;
};

class Flights {
 public:
  // Sends the command, and counts it with its claims. Returns its id.
  std::uint64_t send(Node& node, Command command, Flight flight, Micros now);
  // The same for a watch, which holds on to no claim.
  void watch(Node& node, const std::vector<std::string_view>& keys, Flight flight, Micros now);

  // The command that a reply belongs to; its claims still count it.
  std::optional<Flight> take(std::uint64_t id);
  // Those that a lost connection has taken with it.
  std::vector<std::pair<std::uint64_t, Flight>> take_all_of(const Node& node);

  // What is out about the claim, elsewhere than at that node.
  void outdate(const Claim& claim, const Node& node);

  // Whether anything is out there.
  [[nodiscard]] bool has_any_of(const Node& node) const;

  // Whether more was given up than the node has answered for. What is asked for beyond that would
  // only wait behind it, and all else behind that.
  [[nodiscard]] bool is_behind(const Node& node) const;

  // How many commands were sent.
  [[nodiscard]] std::uint64_t sent() const { return last_command_; }

 private:
  std::unordered_map<std::uint64_t, Flight> flights_;
  std::unordered_map<const Node*, int> in_vain_;
  std::uint64_t last_command_ = 0;
};

}  // namespace belay
