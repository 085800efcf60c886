#include "dialect/keys.h"

#include <algorithm>

#include "route/slot.h"

namespace belay {

namespace {

void append_escaped(std::string_view name, std::string* key) {
  while (!name.empty()) {
    const std::size_t plain = std::min(name.find_first_of("%}"), name.size());
    key->append(name.substr(0, plain));
    if (plain == name.size()) {
      return;
    }
    key->append(name[plain] == '%' ? "%25" : "%7D");
    name.remove_prefix(plain + 1);
  }
}

bool has_tag(std::string_view name) {
  return hash_tag(name).size() != name.size();
}

// The name without a tag that was escaped so.
std::optional<std::string> unescaped(std::string_view text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '}') {
      return std::nullopt;
    }
    if (text[i] != '%') {
      name.push_back(text[i]);
      continue;
    }
    const std::string_view code = text.substr(i, 3);
    if (code != "%25" && code != "%7D") {
      return std::nullopt;
    }
    name.push_back(code == "%25" ? '%' : '}');
    i += 2;
  }
  return has_tag(name) ? std::nullopt : std::optional(std::move(name));
}

}  // namespace

std::string key_of(std::string_view prefix, char kind, std::string_view name) {
  std::string key;
  key.reserve(prefix.size() + name.size() + 4);
  key.append(prefix).push_back(kind);
  if (has_tag(name)) {
    return key.append("=").append(name);
  }
  key.append(":{");
  append_escaped(name, &key);
  return key.append("}");
}

std::optional<std::string> name_of(std::string_view prefix, char kind, std::string_view key) {
  if (!key.starts_with(prefix) || key.size() < prefix.size() + 3 || key[prefix.size()] != kind) {
    return std::nullopt;
  }
  const std::string_view rest = key.substr(prefix.size() + 1);
  if (rest.front() == '=' && has_tag(rest.substr(1))) {
    return std::string(rest.substr(1));
  }
  if (rest.starts_with(":{") && rest.ends_with('}') && rest.size() > 3) {
    return unescaped(rest.substr(2, rest.size() - 3));
  }
  return std::nullopt;
}

std::string fence_key_of(std::string_view prefix, std::uint16_t slot) {
  return std::string(prefix).append("f:{").append(slot_tag(slot)).append("}");
}

std::string absent_key_of(std::string_view prefix, std::uint16_t slot) {
  return std::string(prefix).append("x:{").append(slot_tag(slot)).append("}");
}

std::string guard_key_of(std::string_view prefix, std::string_view key) {
  return std::string(prefix).append("g:{").append(slot_tag(slot_of(key))).append("}:").append(key);
}

}  // namespace belay
