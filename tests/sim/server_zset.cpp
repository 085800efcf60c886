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

// What a range of ranks or scores may be asked for with.
struct RangeOptions {
  bool with_scores = false;
  bool by_score = false;
  bool limited = false;
  std::int64_t skip = 0;
  std::int64_t most = -1;  // negative: all
};

// Null after answering what is wrong with the words after the range.
std::optional<RangeOptions> read_range_options(Call& call, bool may_be_by_score) {
  RangeOptions options;
  for (std::size_t i = 4; i < call.argv.size(); ++i) {
    if (equals_ignoring_case(call.argv[i], "WITHSCORES")) {
      options.with_scores = true;
    } else if (may_be_by_score && equals_ignoring_case(call.argv[i], "BYSCORE")) {
      options.by_score = true;
    } else if (equals_ignoring_case(call.argv[i], "LIMIT") && i + 2 < call.argv.size()) {
      const auto skip = parse_integer(call.argv[++i]);
      const auto most = parse_integer(call.argv[++i]);
      if (!skip || !most) {
        call.reply.error(kNotAnInteger);
        return std::nullopt;
      }
      options.limited = true;
      options.skip = *skip;
      options.most = *most;
    } else {
      call.reply.error(kSyntaxError);
      return std::nullopt;
    }
  }
  if (options.limited && !options.by_score) {
    call.reply.error(
        "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
    return std::nullopt;
  }
  return options;
}

struct ScoreBound {
  double score;
  bool exclusive;
};

// A bound of a range of scores, "(" in front of it where it is exclusive. Redis reads no text as 0.
std::optional<ScoreBound> parse_bound(std::string_view text) {
  const bool exclusive = text.starts_with('(');
  text.remove_prefix(exclusive ? 1 : 0);
  const auto score = text.empty() ? std::optional(0.0) : parse_double(text);
  return score ? std::optional(ScoreBound{*score, exclusive}) : std::nullopt;
}

// Entries from..to, one past the last, in their order or in reverse.
void write_entries(Call& call, const SortedSet* zset, std::int64_t from, std::int64_t to,
                   bool reverse, bool with_scores) {
  const auto size = zset != nullptr ? static_cast<std::int64_t>(zset->size()) : 0;
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(to - from, 0));
  call.reply.array(with_scores && !call.reply.resp3() ? count * 2 : count);
  for (std::int64_t i = from; i < to; ++i) {
    const auto at = static_cast<std::size_t>(reverse ? size - 1 - i : i);
    write_entry(call.reply, zset->entries()[at], with_scores);
  }
}

// The ranks of the entries in a range of scores: from, and one past the last.
struct Ranks {
  std::int64_t from = 0;
  std::int64_t end = 0;
};

// None after answering what is wrong with the key or the bounds.
std::optional<Ranks> ranks_of_scores(Call& call) {
  const auto least = parse_bound(call.argv[2]);
  const auto greatest = parse_bound(call.argv[3]);
  if (!least || !greatest) {
    call.reply.error("ERR min or max is not a float");
    return std::nullopt;
  }
  bool ok = false;
  const auto* const zset = find_typed<SortedSet>(call, call.argv[1], ok);
  if (!ok) {
    return std::nullopt;
  }
  // How many entries come before the bound; `past`: with those at it.
  const auto before = [&](double score, bool past) -> std::int64_t {
    if (zset == nullptr) {
      return 0;
    }
    const auto& entries = zset->entries();
    return std::partition_point(entries.begin(), entries.end(),
                                [&](const SortedSet::Entry& entry) {
                                  return entry.first < score || (past && entry.first == score);
                                }) -
           entries.begin();
  };
  return Ranks{before(least->score, least->exclusive),
               before(greatest->score, !greatest->exclusive)};
}

void range_by_score(Call& call, const RangeOptions& options) {
  const std::optional<Ranks> ranks = ranks_of_scores(call);
  if (!ranks) {
    return;
  }
  const auto [first, end] = *ranks;
  // A negative number to skip leaves nothing.
  const bool nothing = options.skip < 0 || end - first <= options.skip;
  const std::int64_t from = nothing ? end : first + options.skip;
  const std::int64_t left = nothing ? 0 : end - from;
  const std::int64_t count = options.most < 0 ? left : std::min(options.most, left);
  bool ok = false;
  write_entries(call, find_typed<SortedSet>(call, call.argv[1], ok), from, from + count, false,
                options.with_scores);
}

void zcount(Call& call) {
  const std::optional<Ranks> ranks = ranks_of_scores(call);
  if (ranks) {
    call.reply.integer(std::max<std::int64_t>(0, ranks->end - ranks->from));
  }
}

void range(Call& call, bool reverse) {
  const auto options = read_range_options(call, !reverse);
  if (!options) {
    return;
  }
  if (options->by_score) {
    range_by_score(call, *options);
    return;
  }
  const auto first = parse_integer(call.argv[2]);
  const auto last = parse_integer(call.argv[3]);
  if (!first || !last) {
    call.reply.error(kNotAnInteger);
    return;
  }
  bool ok = false;
  const auto* const zset = find_typed<SortedSet>(call, call.argv[1], ok);
  if (!ok) {
    return;
  }
  const auto size = zset != nullptr ? static_cast<std::int64_t>(zset->size()) : 0;
  const std::int64_t from = std::max<std::int64_t>(*first < 0 ? *first + size : *first, 0);
  const std::int64_t to = std::min(*last < 0 ? *last + size : *last, size - 1) + 1;
  write_entries(call, zset, from, to, reverse, options->with_scores);
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

// Removes those of that rank, and answers how many they were.
void remove_ranks(Call& call, SortedSet* zset, Ranks ranks) {
  std::vector<std::string> members;
  for (std::int64_t i = ranks.from; zset != nullptr && i < ranks.end; ++i) {
    members.push_back(*zset->entries()[static_cast<std::size_t>(i)].second);
  }
  for (const std::string& member : members) {
    zset->remove(member);
  }
  if (zset != nullptr && zset->size() == 0) {
    call.server.store.erase(call.argv[1]);
  }
  call.reply.integer(static_cast<std::int64_t>(members.size()));
}

void zremrangebyrank(Call& call) {
  const auto first = parse_integer(call.argv[2]);
  const auto last = parse_integer(call.argv[3]);
  if (!first || !last) {
    call.reply.error(kNotAnInteger);
    return;
  }
  bool ok = false;
  auto* const zset = find_typed<SortedSet>(call, call.argv[1], ok);
  if (!ok) {
    return;
  }
  const auto size = zset != nullptr ? static_cast<std::int64_t>(zset->size()) : 0;
  remove_ranks(call, zset,
               {std::max<std::int64_t>(*first < 0 ? *first + size : *first, 0),
                std::min(*last < 0 ? *last + size : *last, size - 1) + 1});
}

constexpr Command kCommands[] = {
    {"zadd", -4, kWrite | kDenyOom, 1, 1, zadd},
    {"zrem", -3, kWrite, 1, 1, zrem},
    {"zrange", -4, 0, 1, 1, zrange},
    {"zrevrange", -4, 0, 1, 1, zrevrange},
    {"zpopmin", -2, kWrite, 1, 1, zpopmin},
    {"zscore", 3, 0, 1, 1, zscore},
    {"zcard", 2, 0, 1, 1, zcard},
    {"zcount", 4, 0, 1, 1, zcount},
    {"zremrangebyrank", 4, kWrite, 1, 1, zremrangebyrank},
};

}  // namespace

std::span<const Command> sorted_set_commands() {
  return kCommands;
}

}  // namespace belay::sim
