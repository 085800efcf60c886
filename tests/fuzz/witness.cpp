#include "fuzz/witness.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "dialect/mac.h"
#include "fuzz/require.h"
#include "scripts/scripts.h"

namespace belay::fuzz {
namespace {

constexpr std::size_t kCode = 1;
constexpr std::size_t kNumber = 8;
constexpr std::size_t kFirstKey = 3;  // verb, script, number of keys
constexpr std::size_t kKeys = 4;      // of a name

double number_at(std::string_view packed, std::size_t offset) {
  double number = 0;
  if (packed.size() >= offset + kNumber) {
    std::memcpy(&number, packed.data() + offset, kNumber);
  }
  return number;
}

// The record of a name, by that or by its members.
std::string record_of(std::string key) {
  constexpr std::size_t kLetter = 6;  // behind "belay:"
  key.at(kLetter) = 'r';
  return key;
}

// Those of the engine; the node's own are answered before the engine hears of anything.
bool is_of_engine(const std::vector<std::string>& command) {
  return command[0] == "EVAL" || command[0] == "EVALSHA" || command[0] == "SCAN" ||
         command[0] == "PING" || command[0] == "EXISTS";
}

}  // namespace

bool calls(const std::vector<std::string>& command, const Script& script) {
  return command.size() > kFirstKey && (command[1] == script.sha1 || command[1] == script.body);
}

bool keeps(const std::vector<std::string>& command) {
  return calls(command, scripts::kKeep) || calls(command, scripts::kKeepMembers);
}

std::size_t names_of(const std::vector<std::string>& command) {
  const std::size_t keys = std::strtoul(command.at(2).c_str(), nullptr, 10);
  if (calls(command, scripts::kRelease) || keeps(command)) {
    return keys;
  }
  return calls(command, scripts::kReleaseMembers) ? 1 : keys / kKeys;
}

void Witness::on_sent(std::string_view bytes) {
  const std::string wrong = commands_.feed(bytes, [this](Reply command) {
    Argv argv;
    for (std::size_t i = 0; i < command.size(); ++i) {
      argv.emplace_back(command.at(i).text());
    }
    require(!argv.empty(), "a command has a name");
    if (is_of_engine(argv)) {
      of_engine_.push_back(argv);
    }
    asked.push_back(std::move(argv));
    return true;
  });
  require(wrong.empty(), "what we send is the Redis protocol", wrong);
}

void Witness::on_cut() {
  asked.clear();
  shift = 0;
  of_engine_.clear();
  commands_.reset();
}

bool Witness::granted(const std::string& record, std::int64_t fence) const {
  const auto number = static_cast<double>(fence);
  return std::any_of(grants_.begin(), grants_.end(), [&](const Grant& grant) {
    return grant.record == record && grant.fence <= number && number <= grant.last;
  });
}

void Witness::note_acquire(const Argv& command, std::string_view reply) {
  constexpr std::size_t kSize = kCode + 3 * kNumber + 1 + kNumber;
  if (reply.size() >= kSize && reply[0] == static_cast<char>(AcquireCode::kGranted)) {
    grants_.push_back({command[kFirstKey], number_at(reply, kCode + kNumber),
                       number_at(reply, kCode + 2 * kNumber)});
  }
}

// A grant of several names is one of each, or of none.
void Witness::note_many(const Argv& command, std::string_view reply) {
  constexpr std::size_t kHead = kCode + kNumber;
  constexpr std::size_t kSize = 2 * kNumber + 1;
  const std::size_t names = names_of(command);
  const std::size_t step = calls(command, scripts::kTake) ? 1 : kKeys;  // from record to record
  if (reply.size() != kHead + names * kSize ||
      reply[0] != static_cast<char>(AcquireCode::kGranted)) {
    return;
  }
  for (std::size_t i = 0; i < names; ++i) {
    const std::size_t at = kHead + i * kSize;
    grants_.push_back(
        {command[kFirstKey + i * step], number_at(reply, at), number_at(reply, at + kNumber)});
  }
}

// More fences for what is ours.
void Witness::note_renewal(const Argv& command, std::string_view reply) {
  constexpr std::size_t kSize = kCode + kNumber + 1;
  constexpr std::size_t kFence = 38;  // behind the claim and the lease
  constexpr std::size_t kClaim = 30;
  const bool kept = keeps(command);
  const std::size_t row = calls(command, scripts::kKeep) ? 50 : 75;  // of a claim, in its argument
  const std::size_t claims = names_of(command);
  for (std::size_t i = 0; i < claims && reply.size() >= kNumber + (i + 1) * kSize; ++i) {
    const std::size_t at = kNumber + i * kSize;
    if (reply[at] == static_cast<char>(RenewCode::kOk)) {
      const double fence = kept ? number_at(command[kFirstKey + claims], kNumber + i * row + kClaim)
                                : number_at(command[kFirstKey + claims * kKeys + 2 + i], kFence);
      grants_.push_back({record_of(command[kFirstKey + i * (kept ? 1 : kKeys)]), fence,
                         number_at(reply, at + kCode)});
    }
  }
}

void Witness::on_node_up(Node& node, Micros now) {
  engine_.on_node_up(node, now);
}

void Witness::on_node_down(Node& node, Micros now) {
  require(!node.trouble().ok(), "a node is down for a reason");
  require(!node.trouble().message.empty(), "a node that is down says why");
  require_readable(node.trouble().message);
  engine_.on_node_down(node, now);
}

void Witness::on_node_refused(Node& node, Micros now) {
  engine_.on_node_refused(node, now);
}

void Witness::on_node_reply(Node& node, std::uint64_t id, Reply reply, Micros sent, Micros now) {
  require(!of_engine_.empty(), "a reply belongs to a command");
  const Argv command = std::move(of_engine_.front());
  of_engine_.pop_front();
  require(shift == 0 || reply.is_error() || !command[0].starts_with("EVAL"),
          "no reply is taken for another call's");
  if (calls(command, scripts::kAcquire)) {
    note_acquire(command, reply.text());
  } else if (calls(command, scripts::kMany) || calls(command, scripts::kTake)) {
    note_many(command, reply.text());
  } else if (calls(command, scripts::kRenew) || keeps(command)) {
    note_renewal(command, reply.text());
  }
  engine_.on_node_reply(node, id, reply, sent, now);
}

void Witness::on_node_message(Node& node, std::string_view payload, Micros now) {
  constexpr std::size_t kFence = 2 * kCode + 2 * kNumber;  // behind kinds, epoch and time
  constexpr std::size_t kMac = kFence + 3 * kNumber + 1;
  constexpr double kLastEpoch = 1LL << 53;
  const double epoch_told = number_at(payload, 2 * kCode);
  if (payload.size() >= kMac + kMacSize && payload[0] == static_cast<char>(MessageKind::kGrant) &&
      epoch_told >= 0 && epoch_told <= kLastEpoch) {
    const std::string record(payload.substr(kMac + kMacSize));
    const auto epoch = static_cast<std::int64_t>(epoch_told);
    const std::string mac = mac_of(client_, epoch, std::string(payload.substr(0, kMac)) + record);
    if (payload.substr(kMac, kMacSize) == mac) {
      grants_.push_back({record, number_at(payload, kFence), number_at(payload, kFence + kNumber)});
    }
  }
  engine_.on_node_message(node, payload, now);
}

void Witness::on_node_flushed(Node& node, Micros now) {
  engine_.on_node_flushed(node, now);
}

void Witness::on_node_changed(Node& node, std::string_view key, Micros now) {
  engine_.on_node_changed(node, key, now);
}

void Witness::on_node_slots(Node& node, const std::vector<SlotRange>& map, Micros now) {
  engine_.on_node_slots(node, map, now);
}

void Witness::on_node_left(Node& node, std::uint16_t slot, Micros now) {
  engine_.on_node_left(node, slot, now);
}

void Witness::on_node_clock(Node& node, Micros now) {
  engine_.on_node_clock(node, now);
}

}  // namespace belay::fuzz
