// The table of options: their names, units, ranges, and where their values go. The setters, options
// by name, URL parameters and what bindings read about options all use it. Immutable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/config.h"
#include "base/status.h"

namespace belay {

enum class OptionType : std::uint8_t {
  kServer,  // about the server and the login: no field of its own, and no URL parameter
  kNumber,
  kLevel,
  kVersion,  // of TLS
  kText,
  kMap,    // of addresses
  kSecret  // nobody may see it; no URL parameter
};

struct Option {
  const char* name = "";
  const char* unit = "";
  const char* about = "";
  const char* variable = "";  // of the environment
  // Of a number and a level, in the unit; of a text, its size in bytes.
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t scale = 1;  // of the field, in the unit
  std::int64_t Config::*number = nullptr;
  std::string Config::*text = nullptr;
  Secret Config::*hidden = nullptr;
  const char* forbidden = "";  // bytes of a text
  const char* fallback = "";   // of what has no field: the default in words
  OptionType type = OptionType::kServer;
  bool zero_allowed = false;  // below the range, too
  bool secret = false;

  // What may be set, such as "100..86400000".
  [[nodiscard]] std::string range() const;
  // Its value there, as it would be set; of what has no field, the default in words.
  [[nodiscard]] std::string value_in(const Config& config) const;

  // Sets the field; or says that "NAME was VALUE" and what is allowed, and nothing is changed.
  Status set_number(std::int64_t value, Config* config) const;
  // The same, of all that has a field.
  Status set_text(const std::string& value, Config* config) const;

  void copy(const Config& from, Config* to) const;

 private:
  // Of kText and kMap.
  Status set_words(const std::string& value, Config* config) const;
};

inline constexpr std::size_t kOptions = 21;

extern const Option kOptionTable[kOptions];

// Null: there is none of that name.
const Option* find_option(std::string_view name);

}  // namespace belay
