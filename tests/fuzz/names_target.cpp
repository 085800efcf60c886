// Names, keys, slots and patterns: distinct names have distinct keys, every key leads back to its
// name, all keys of a name share a slot, and a pattern matches what it must.
#include <array>
#include <string>
#include <vector>

#include "base/glob.h"
#include "dialect/keys.h"
#include "dialect/native.h"
#include "fuzz/input.h"
#include "fuzz/require.h"
#include "route/slot.h"

namespace belay::fuzz {
namespace {

constexpr std::array kKinds{'r', 'w', 'm'};

// Made of what the encoding and the patterns are about, or of anything.
std::string text_of(Input& input) {
  if (input.flag()) {
    return std::string(input.bytes());
  }
  std::string text;
  const std::size_t parts = input.below(10);
  for (std::size_t i = 0; i < parts; ++i) {
    text +=
        input.any_of<const char*>({"a", "b", "{", "}", "{}", "%", "%25", "%7D", "%7d",  "=", ":{",
                                   ":", "*", "?", "[", "]",  "-", "^",   "\\",  "\xff", "z"});
  }
  return text;
}

std::string prefix_of(Input& input) {
  std::string prefix(input.any_of<std::string_view>({"belay:", "b", "*?[]\\^-", "belay:r"}));
  if (input.flag()) {
    prefix = input.bytes().substr(0, 64);
    std::erase_if(prefix, [](char byte) { return byte == '{' || byte == '}'; });
  }
  return prefix.empty() ? "belay:" : prefix;
}

void check_name(const std::string& prefix, const std::string& name) {
  const std::string record = key_of(prefix, 'r', name);
  for (const char kind : kKinds) {
    const std::string key = key_of(prefix, kind, name);
    require(slot_of(key) == slot_of(record), "the keys of a name share a slot", key);
    for (const char other : kKinds) {
      const auto back = name_of(prefix, other, key);
      require(back.has_value() == (kind == other), "a key is of one kind", key);
      require(!back || *back == name, "a key leads back to its name", key);
    }
  }
  const std::string fence = fence_key_of(prefix, slot_of(record));
  require(slot_of(fence) == slot_of(record), "the fence's key shares the slot", fence);
  require(!name_of(prefix, 'r', fence), "the fence's key is nobody's record", fence);
  const NativeDialect dialect({std::string(22, 'c'), prefix, "1 host label"}, kSecond);
  require(glob_match(dialect.scan_pattern(), record), "list finds every record", record);
  require(dialect.name_of_key(record) == name, "list knows the name of every record", record);
}

void check_pair(const std::string& prefix, const std::string& name, const std::string& other) {
  if (name == other) {
    return;
  }
  for (const char kind : kKinds) {
    require(key_of(prefix, kind, name) != key_of(prefix, kind, other),
            "distinct names have distinct keys", name);
  }
}

// A foreign key is no name's, or exactly the key of that name.
void check_key(const std::string& prefix, const std::string& key) {
  for (const char kind : kKinds) {
    const auto name = name_of(prefix, kind, key);
    require(!name || key_of(prefix, kind, *name) == key, "a name has one key", key);
  }
  require(slot_of(key) < kSlots, "a slot is one", key);
}

std::string escaped(const std::string& text) {
  std::string pattern;
  for (const char byte : text) {
    pattern.push_back('\\');
    pattern.push_back(byte);
  }
  return pattern;
}

void check_patterns(const std::string& text, const std::string& other, const std::string& pattern) {
  require(glob_match("*", text), "a star matches everything", text);
  require(glob_match(escaped(text), text), "a text matches itself", text);
  require(glob_match(escaped(text), other) == (text == other), "and nothing else", other);
  require(glob_match(std::string(text.size(), '?'), text), "? matches any byte", text);
  require(!glob_match(std::string(text.size() + 1, '?'), text), "? matches one byte", text);
  const std::string whole = text + other;
  require(glob_match(escaped(text) + "*" + escaped(other), whole), "a star may be empty", whole);
  require(glob_match("*" + escaped(other) + "*", text + other + text), "stars skip", whole);
  if (glob_match(pattern, text)) {
    require(glob_match("*" + pattern, other + text), "a star may stand before a match", pattern);
    const bool open_ended = pattern.find_first_of("\\[") != std::string::npos;
    require(open_ended || glob_match(pattern + "*", text + other), "and behind it", pattern);
  }
}

}  // namespace
}  // namespace belay::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace belay::fuzz;
  Input input(data, size);
  const std::string prefix = prefix_of(input);
  std::string name = text_of(input);
  name += name.empty() ? "a" : "";
  std::string other = text_of(input);
  other += other.empty() ? "a" : "";
  const std::string pattern = text_of(input);
  check_name(prefix, name);
  check_pair(prefix, name, other);
  check_patterns(name, other, pattern);
  check_key(prefix, std::string(input.rest()));
  check_key(prefix, prefix + "r" + pattern);
  return 0;
}
