// Commands of a simulated server on keys, strings, hashes and lists. They run in the thread of the
// Server.
#include <algorithm>

#include "sim/server_command.h"

namespace belay::sim {
namespace {

constexpr std::int64_t kMaxStringSize = 512LL * 1024 * 1024;

void get(Call& call) {
  bool ok = false;
  const auto* const text = find_typed<std::string>(call, call.argv[1], ok);
  if (text != nullptr) {
    call.reply.bulk(*text);
  } else if (ok) {
    call.reply.null();
  }
}

void mget(Call& call) {
  call.reply.array(call.argv.size() - 1);
  for (const std::string_view key : call.argv.subspan(1)) {
    Value* const value = call.server.store.find(key);
    const auto* const text = value != nullptr ? std::get_if<std::string>(&value->data) : nullptr;
    if (text != nullptr) {
      call.reply.bulk(*text);
    } else {
      call.reply.null();
    }
  }
}

struct SetOptions {
  std::int64_t lives_ms = 0;
  bool only_new = false;
  bool only_old = false;
  bool keeps_ttl = false;
};

// Returns "" or the error to answer.
std::string_view read_set_options(std::span<const std::string_view> argv, SetOptions& options) {
  for (std::size_t i = 3; i < argv.size(); ++i) {
    const bool ms = equals_ignoring_case(argv[i], "PX");
    if (ms || equals_ignoring_case(argv[i], "EX")) {
      if (i + 1 == argv.size()) {
        return kSyntaxError;
      }
      const auto time = parse_integer(argv[++i]);
      if (!time) {
        return kNotAnInteger;
      }
      if (*time <= 0) {
        return "ERR invalid expire time in 'set' command";
      }
      options.lives_ms = ms ? *time : *time * 1000;
    } else if (equals_ignoring_case(argv[i], "NX")) {
      options.only_new = true;
    } else if (equals_ignoring_case(argv[i], "XX")) {
      options.only_old = true;
    } else if (equals_ignoring_case(argv[i], "KEEPTTL")) {
      options.keeps_ttl = true;
    } else {
      return kSyntaxError;
    }
  }
  return {};
}

void put(Store& store, std::string_view key, std::string_view text, std::int64_t expires_ms) {
  Value& value = store.find_or_add(key);
  if (auto* const before = std::get_if<std::string>(&value.data)) {
    before->assign(text);
  } else {
    value.data.emplace<std::string>(text);
  }
  value.expires_ms = expires_ms;
}

void set(Call& call) {
  SetOptions options;
  const std::string_view problem = read_set_options(call.argv, options);
  if (!problem.empty()) {
    call.reply.error(problem);
    return;
  }
  Store& store = call.server.store;
  const Value* const before = store.find(call.argv[1]);
  if (before != nullptr ? options.only_new : options.only_old) {
    call.reply.null();
    return;
  }
  const std::int64_t kept = options.keeps_ttl && before != nullptr ? before->expires_ms : 0;
  put(store, call.argv[1], call.argv[2],
      options.lives_ms == 0 ? kept : store.now_ms() + options.lives_ms);
  call.reply.status("OK");
}

void mset(Call& call) {
  if (call.argv.size() % 2 == 0) {
    call.reply.error("ERR wrong number of arguments for 'mset' command");
    return;
  }
  for (std::size_t i = 1; i < call.argv.size(); i += 2) {
    put(call.server.store, call.argv[i], call.argv[i + 1], 0);
  }
  call.reply.status("OK");
}

void del(Call& call) {
  std::int64_t erased = 0;
  for (const std::string_view key : call.argv.subspan(1)) {
    erased += call.server.store.erase(key) ? 1 : 0;
  }
  call.reply.integer(erased);
}

void exists(Call& call) {
  std::int64_t found = 0;
  for (const std::string_view key : call.argv.subspan(1)) {
    found += call.server.store.find(key) != nullptr ? 1 : 0;
  }
  call.reply.integer(found);
}

void setrange(Call& call) {
  const auto offset = parse_integer(call.argv[2]);
  if (!offset || *offset < 0) {
    call.reply.error(offset ? "ERR offset is out of range" : kNotAnInteger);
    return;
  }
  const std::string_view bytes = call.argv[3];
  bool ok = false;
  auto* text = find_typed<std::string>(call, call.argv[1], ok);
  if (!ok) {
    return;
  }
  if (*offset + static_cast<std::int64_t>(bytes.size()) > kMaxStringSize && !bytes.empty()) {
    call.reply.error("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    return;
  }
  if (!bytes.empty()) {
    text = find_or_make<std::string>(call, call.argv[1]);
    const auto at = static_cast<std::size_t>(*offset);
    text->resize(std::max(text->size(), at + bytes.size()));
    bytes.copy(text->data() + at, bytes.size());
  }
  call.reply.integer(text == nullptr ? 0 : static_cast<std::int64_t>(text->size()));
}

void getrange(Call& call) {
  const auto first = parse_integer(call.argv[2]);
  const auto last = parse_integer(call.argv[3]);
  if (!first || !last) {
    call.reply.error(kNotAnInteger);
    return;
  }
  bool ok = false;
  const auto* const text = find_typed<std::string>(call, call.argv[1], ok);
  if (!ok) {
    return;
  }
  const std::string_view all = text != nullptr ? std::string_view(*text) : std::string_view();
  const auto size = static_cast<std::int64_t>(all.size());
  const std::int64_t from = std::max<std::int64_t>(*first < 0 ? *first + size : *first, 0);
  const std::int64_t end = std::max<std::int64_t>(*last < 0 ? *last + size : *last, 0);
  const std::int64_t to = std::min(end, size - 1);
  const bool reversed = *first < 0 && *last < 0 && *first > *last;
  call.reply.bulk(reversed || from > to ? std::string_view()
                                        : all.substr(static_cast<std::size_t>(from),
                                                     static_cast<std::size_t>(to - from + 1)));
}

void string_length(Call& call) {
  bool ok = false;
  const auto* const text = find_typed<std::string>(call, call.argv[1], ok);
  if (ok) {
    call.reply.integer(text == nullptr ? 0 : static_cast<std::int64_t>(text->size()));
  }
}

void pexpire(Call& call) {
  const auto lives_ms = parse_integer(call.argv[2]);
  if (!lives_ms) {
    call.reply.error(kNotAnInteger);
    return;
  }
  Store& store = call.server.store;
  Value* const value = store.find(call.argv[1]);
  if (value != nullptr && *lives_ms <= 0) {
    store.erase(call.argv[1]);
  } else if (value != nullptr) {
    value->expires_ms = store.now_ms() + *lives_ms;
  }
  call.reply.integer(value != nullptr ? 1 : 0);
}

void pttl(Call& call) {
  const Value* const value = call.server.store.find(call.argv[1]);
  if (value == nullptr) {
    call.reply.integer(-2);
  } else if (value->expires_ms == 0) {
    call.reply.integer(-1);
  } else {
    call.reply.integer(value->expires_ms - call.server.store.now_ms());
  }
}

void type(Call& call) {
  constexpr std::string_view kNames[] = {"string", "zset", "hash", "list"};
  const Value* const value = call.server.store.find(call.argv[1]);
  call.reply.status(value == nullptr ? "none" : kNames[value->data.index()]);
}

void hget(Call& call) {
  bool ok = false;
  const auto* const hash = find_typed<Hash>(call, call.argv[1], ok);
  if (!ok) {
    return;
  }
  const auto found = hash != nullptr ? hash->find(call.argv[2]) : Hash::const_iterator();
  if (hash == nullptr || found == hash->end()) {
    call.reply.null();
  } else {
    call.reply.bulk(found->second);
  }
}

void hmget(Call& call) {
  bool ok = false;
  const auto* const hash = find_typed<Hash>(call, call.argv[1], ok);
  if (!ok) {
    return;
  }
  call.reply.array(call.argv.size() - 2);
  for (const std::string_view field : call.argv.subspan(2)) {
    const auto found = hash != nullptr ? hash->find(field) : Hash::const_iterator();
    if (hash == nullptr || found == hash->end()) {
      call.reply.null();
    } else {
      call.reply.bulk(found->second);
    }
  }
}

void hset(Call& call) {
  if (call.argv.size() % 2 != 0) {
    call.reply.error("ERR wrong number of arguments for 'hset' command");
    return;
  }
  auto* const hash = find_or_make<Hash>(call, call.argv[1]);
  if (hash == nullptr) {
    return;
  }
  std::int64_t added = 0;
  for (std::size_t i = 2; i < call.argv.size(); i += 2) {
    const auto found = hash->find(call.argv[i]);
    if (found != hash->end()) {
      found->second.assign(call.argv[i + 1]);
    } else {
      hash->emplace(call.argv[i], call.argv[i + 1]);
      ++added;
    }
  }
  call.reply.integer(added);
}

void hdel(Call& call) {
  bool ok = false;
  auto* const hash = find_typed<Hash>(call, call.argv[1], ok);
  if (!ok) {
    return;
  }
  std::int64_t removed = 0;
  for (const std::string_view field : call.argv.subspan(2)) {
    const auto found = hash != nullptr ? hash->find(field) : Hash::iterator();
    if (hash != nullptr && found != hash->end()) {
      hash->erase(found);
      ++removed;
    }
  }
  if (hash != nullptr && hash->empty()) {
    call.server.store.erase(call.argv[1]);
  }
  call.reply.integer(removed);
}

void hlen(Call& call) {
  bool ok = false;
  const auto* const hash = find_typed<Hash>(call, call.argv[1], ok);
  if (ok) {
    call.reply.integer(hash != nullptr ? static_cast<std::int64_t>(hash->size()) : 0);
  }
}

void hgetall(Call& call) {
  bool ok = false;
  const auto* const hash = find_typed<Hash>(call, call.argv[1], ok);
  if (!ok) {
    return;
  }
  std::map<std::string_view, std::string_view> ordered;
  if (hash != nullptr) {
    ordered.insert(hash->begin(), hash->end());
  }
  call.reply.map(ordered.size());
  for (const auto& [field, value] : ordered) {
    call.reply.bulk(field);
    call.reply.bulk(value);
  }
}

void rpush(Call& call) {
  auto* const list = find_or_make<List>(call, call.argv[1]);
  if (list != nullptr) {
    list->insert(list->end(), call.argv.begin() + 2, call.argv.end());
    call.reply.integer(static_cast<std::int64_t>(list->size()));
  }
}

void llen(Call& call) {
  bool ok = false;
  const auto* const list = find_typed<List>(call, call.argv[1], ok);
  if (ok) {
    call.reply.integer(list != nullptr ? static_cast<std::int64_t>(list->size()) : 0);
  }
}

void keys(Call& call) {
  std::vector<std::string_view> found;
  for (const Store::Listed& listed : call.server.store.list()) {
    if (matches(call.argv[1], listed.key)) {
      found.push_back(listed.key);
    }
  }
  std::sort(found.begin(), found.end());
  call.reply.array(found.size());
  for (const std::string_view key : found) {
    call.reply.bulk(key);
  }
}

void dbsize(Call& call) {
  call.reply.integer(static_cast<std::int64_t>(call.server.store.list().size()));
}

// The cursor is the place of the next key, so keys that come and go between calls disturb nothing.
void scan(Call& call) {
  const auto cursor = parse_integer(call.argv[1]);
  std::string_view pattern = "*";
  std::int64_t count = 10;
  bool ok = cursor.has_value() && *cursor >= 0 && call.argv.size() % 2 == 0;
  for (std::size_t i = 2; ok && i < call.argv.size(); i += 2) {
    if (equals_ignoring_case(call.argv[i], "MATCH")) {
      pattern = call.argv[i + 1];
    } else if (equals_ignoring_case(call.argv[i], "COUNT")) {
      count = parse_integer(call.argv[i + 1]).value_or(0);
      ok = count > 0;
    } else {
      ok = false;
    }
  }
  if (!ok) {
    call.reply.error(cursor ? kSyntaxError : "ERR invalid cursor");
    return;
  }
  std::vector<std::string_view> found;
  std::uint64_t next = 0;
  for (const Store::Listed& listed : call.server.store.list()) {
    if (listed.place < static_cast<std::uint64_t>(*cursor)) {
      continue;
    }
    if (count-- == 0) {
      next = listed.place;
      break;
    }
    if (matches(pattern, listed.key)) {
      found.push_back(listed.key);
    }
  }
  call.reply.array(2);
  call.reply.bulk(std::to_string(next));
  call.reply.array(found.size());
  for (const std::string_view key : found) {
    call.reply.bulk(key);
  }
}

void flush(Call& call) {
  call.server.store.clear();
  call.server.invalidate_all();
  call.reply.status("OK");
}

constexpr Command kCommands[] = {
    {"get", 2, 0, 1, 1, get},
    {"mget", -2, 0, 1, -1, mget},
    {"mset", -3, kWrite | kDenyOom, 1, -1, mset, 2},
    {"set", -3, kWrite | kDenyOom, 1, 1, set},
    {"del", -2, kWrite, 1, -1, del},
    {"exists", -2, 0, 1, -1, exists},
    {"setrange", 4, kWrite | kDenyOom, 1, 1, setrange},
    {"getrange", 4, 0, 1, 1, getrange},
    {"strlen", 2, 0, 1, 1, string_length},
    {"pexpire", 3, kWrite, 1, 1, pexpire},
    {"pttl", 2, 0, 1, 1, pttl},
    {"type", 2, 0, 1, 1, type},
    {"hget", 3, 0, 1, 1, hget},
    {"hmget", -3, 0, 1, 1, hmget},
    {"hset", -4, kWrite | kDenyOom, 1, 1, hset},
    {"hdel", -3, kWrite, 1, 1, hdel},
    {"hlen", 2, 0, 1, 1, hlen},
    {"hgetall", 2, 0, 1, 1, hgetall},
    {"rpush", -3, kWrite | kDenyOom, 1, 1, rpush},
    {"llen", 2, 0, 1, 1, llen},
    {"keys", 2, kNoScript, 0, 0, keys},
    {"dbsize", 1, kNoScript, 0, 0, dbsize},
    {"scan", -2, kNoScript, 0, 0, scan},
    {"flushall", -1, kWrite | kNoScript, 0, 0, flush},
    {"flushdb", -1, kWrite | kNoScript, 0, 0, flush},
};

}  // namespace

std::span<const Command> data_commands() {
  return kCommands;
}

}  // namespace belay::sim
