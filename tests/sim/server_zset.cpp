// Commands of a simulated server on sorted sets. They run in the thread of the Server.
#include <algorithm>

#include "sim/server_command.h"

namespace belay::sim {
namespace {

void write_entry(RespWriter& reply, const SortedSet::Entry& entry, bool with_score) {
  if (with_score && reply.resp3()) {
    reply.array(2);
  }
  reply.bulk(*entry.second);
  if (with_score) {
    reply.number(entry.first);
  }
}

void zadd(Call& call) {
  if (call.argv.size() % 2 != 0) {
    call.reply.error(kSyntaxError);
    return;
  }
  for (std::size_t i = 2; i < call.argv.size(); i += 2) {
    if (!parse_double(call.argv[i])) {
      call.reply.error("ERR value is not a valid float");
      return;
    }
  }
  auto* const zset = find_or_make<SortedSet>(call, call.argv[1]);
  if (zset == nullptr) {
    return;
  }
  std::int64_t added = 0;
  for (std::size_t i = 2; i < call.argv.size(); i += 2) {
    added += zset->add(call.argv[i + 1], *parse_double(call.argv[i])) ? 1 : 0;
  }
  call.reply.integer(added);
}

void zrem(Call& call) {
  bool ok = false;
  auto* const zset = find_typed<SortedSet>(call, call.argv[1], ok);
  if (!ok) {
    return;
  }
  std::int64_t removed = 0;
  for (const std::string_view member : call.argv.subspan(2)) {
    removed += zset != nullptr && zset->remove(member) ? 1 : 0;
  }
  if (zset != nullptr && zset->size() == 0) {
    call.server.store.erase(call.argv[1]);
  }
  call.reply.integer(removed);
}

void range(Call& call, bool reverse) {
  const auto first = parse_integer(call.argv[2]);
  const auto last = parse_integer(call.argv[3]);
  const bool with_scores = call.argv.size() == 5;
  if (!first || !last) {
    call.reply.error(kNotAnInteger);
    return;
  }
  if (call.argv.size() > 5 || (with_scores && !equals_ignoring_case(call.argv[4], "WITHSCORES"))) {
    call.reply.error(kSyntaxError);
    return;
  }
  bool ok = false;
  const auto* const zset = find_typed<SortedSet>(call, call.argv[1], ok);
  if (!ok) {
    return;
  }
  const auto size = zset != nullptr ? static_cast<std::int64_t>(zset->size()) : 0;
  const std::int64_t from = std::max<std::int64_t>(*first < 0 ? *first + size : *first, 0);
  const std::int64_t to = std::min(*last < 0 ? *last + size : *last, size - 1);
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(to - from + 1, 0));
  call.reply.array(with_scores && !call.reply.resp3() ? count * 2 : count);
  for (std::int64_t i = from; i <= to; ++i) {
    const auto at = static_cast<std::size_t>(reverse ? size - 1 - i : i);
    write_entry(call.reply, zset->entries()[at], with_scores);
  }
}

void zrange(Call& call) {
  range(call, false);
}

void zrevrange(Call& call) {
  range(call, true);
}

void zpopmin(Call& call) {
  const bool counted = call.argv.size() == 3;
  const auto wanted = counted ? parse_integer(call.argv[2]) : std::optional<std::int64_t>(1);
  if (!wanted || *wanted < 0 || call.argv.size() > 3) {
    call.reply.error(wanted ? "ERR value is out of range, must be positive" : kNotAnInteger);
    return;
  }
  bool ok = false;
  auto* const zset = find_typed<SortedSet>(call, call.argv[1], ok);
  if (!ok) {
    return;
  }
  const std::size_t count =
      zset != nullptr ? std::min(zset->size(), static_cast<std::size_t>(*wanted)) : 0;
  const bool nested = counted && call.reply.resp3();
  call.reply.array(nested ? count : count * 2);
  for (std::size_t i = 0; i < count; ++i) {
    const SortedSet::Entry head = zset->entries().front();
    if (nested) {
      call.reply.array(2);
    }
    call.reply.bulk(*head.second);
    call.reply.number(head.first);
    zset->remove(*head.second);
  }
  if (zset != nullptr && zset->size() == 0) {
    call.server.store.erase(call.argv[1]);
  }
}

void zrank(Call& call) {
  bool ok = false;
  const auto* const zset = find_typed<SortedSet>(call, call.argv[1], ok);
  if (!ok) {
    return;
  }
  const auto rank = zset != nullptr ? zset->rank(call.argv[2]) : std::nullopt;
  if (rank) {
    call.reply.integer(static_cast<std::int64_t>(*rank));
  } else {
    call.reply.null();
  }
}

void zscore(Call& call) {
  bool ok = false;
  const auto* const zset = find_typed<SortedSet>(call, call.argv[1], ok);
  if (!ok) {
    return;
  }
  const auto score = zset != nullptr ? zset->score(call.argv[2]) : std::nullopt;
  if (score) {
    call.reply.number(*score);
  } else {
    call.reply.null();
  }
}

void zcard(Call& call) {
  bool ok = false;
  const auto* const zset = find_typed<SortedSet>(call, call.argv[1], ok);
  if (ok) {
    call.reply.integer(zset != nullptr ? static_cast<std::int64_t>(zset->size()) : 0);
  }
}

constexpr Command kCommands[] = {
    {"zadd", -4, kWrite | kDenyOom, 1, 1, zadd},
    {"zrem", -3, kWrite, 1, 1, zrem},
    {"zrange", -4, 0, 1, 1, zrange},
    {"zrevrange", -4, 0, 1, 1, zrevrange},
    {"zpopmin", -2, kWrite, 1, 1, zpopmin},
    {"zrank", 3, 0, 1, 1, zrank},
    {"zscore", 3, 0, 1, 1, zscore},
    {"zcard", 2, 0, 1, 1, zcard},
};

}  // namespace

std::span<const Command> sorted_set_commands() {
  return kCommands;
}

}  // namespace belay::sim
