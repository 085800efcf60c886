#include "sim/forger.h"

#include <algorithm>
#include <utility>

#include "base/packing.h"
#include "dialect/keys.h"
#include "dialect/mac.h"
#include "net/resp.h"
#include "sim/process.h"

namespace belay::sim {

namespace {

constexpr std::size_t kRemembered = 100;
constexpr std::size_t kEpochOffset = 2;
constexpr std::size_t kNumberSize = 8;
constexpr char kNext = static_cast<char>(MessageKind::kNext);
constexpr char kSettled = static_cast<char>(MessageKind::kSettled);

}  // namespace

Forger::Forger(World& world, std::vector<std::string> names, bool delays)
    : world_(world), names_(std::move(names)), delays_(delays) {}

void Forger::overhear(std::string_view push) {
  ReplyReader reader;
  static_cast<void>(reader.feed(push, [this](Reply message) {
    heard_.push_back({std::string(message.at(1).text()), std::string(message.at(2).text())});
    Unpacker fields(heard_.back().payload);
    fields.bytes(kEpochOffset);
    last_epoch_ = std::max(last_epoch_, fields.number());
    return true;
  }));
  if (heard_.size() > kRemembered) {
    heard_.pop_front();
  }
}

// As the scripts make it, but for the MAC.
std::string Forger::made_up() {
  Random& random = world_.random();
  const std::int64_t kind = random.between(1, 6);
  const std::int64_t of = world_.chance(80) ? 1 : random.between(1, 3);
  const Micros ahead = world_.chance(20) ? world_.span(1, kSecond) : 0;
  const std::string key = key_of("belay:", 'r',
                                 names_[static_cast<std::size_t>(random.between(
                                     0, static_cast<std::int64_t>(names_.size()) - 1))]);
  const Micros ts = world_.server_time(world_.host_of(key)) + ahead;
  Packer packed;
  packed.u8(static_cast<std::uint64_t>(kind)).u8(static_cast<std::uint64_t>(of));
  packed.number(random.between(1, last_epoch_ + 1)).number(ts);
  if (kind == 1) {
    const std::int64_t fence = ts + random.between(0, 100);
    packed.number(fence)
        .number(fence + 8)
        .number(2 * kSecond)
        .u8(0)
        .bytes(std::string(kMacSize, '0'));
  } else if (kind == 2) {
    packed.number(world_.chance(50) ? 0 : world_.span(1, 3600 * kSecond));
  } else if (kind == 4) {
    packed.u16(key.size());
  } else if (kind == 6) {
    packed.number(ts).u8(1).bytes(std::string(kMacSize, '0'));
  }
  return packed.bytes(key).bytes(kind == 4 ? "1 host forger" : "").take();
}

// Another epoch, or any byte another.
std::string Forger::altered(std::string payload) {
  Random& random = world_.random();
  if (world_.chance(50) && payload.size() > kEpochOffset + kNumberSize) {
    payload.replace(kEpochOffset, kNumberSize,
                    Packer().number(random.between(1, last_epoch_ + 1)).take());
  } else if (!payload.empty()) {
    const auto at =
        static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(payload.size()) - 1));
    payload[at] = static_cast<char>(random.between(0, 255));
  }
  return payload;
}

void Forger::forge(std::int64_t processes) {
  Random& random = world_.random();
  const int to = static_cast<int>(random.between(0, processes - 1));
  const auto last = static_cast<std::int64_t>(names_.size()) - 1;
  const std::string& name = names_[static_cast<std::size_t>(random.between(0, last))];
  const Inbox inbox = identity_of(to, world_.is_a_cluster()).inbox();
  Heard message{inbox.channel(slot_of(key_of("belay:", 'r', name))), ""};
  if (heard_.empty() || world_.chance(50)) {
    message.payload = made_up();
  } else {
    const Heard& heard = heard_[static_cast<std::size_t>(
        random.between(0, static_cast<std::int64_t>(heard_.size()) - 1))];
    message.channel = world_.chance(80) ? heard.channel : message.channel;
    message.payload = world_.chance(50) ? heard.payload : altered(heard.payload);
  }
  if (!delays_ && (message.payload[0] == kNext || message.payload[0] == kSettled)) {
    return;
  }
  world_.trace("somebody forges a message of kind " + std::to_string(int{message.payload[0]}) +
               " to " + message.channel);
  const bool is_sharded = world_.has_shard_channels();
  Server& server =
      is_sharded ? world_.server_of(message.channel) : world_.server(world_.some_host());
  const int connection = server.connect([](std::string_view) {});
  const char* const verb = is_sharded ? "SPUBLISH" : "PUBLISH";
  static_cast<void>(server.execute(connection, {verb, message.channel, message.payload}));
  server.disconnect(connection);
}

}  // namespace belay::sim
