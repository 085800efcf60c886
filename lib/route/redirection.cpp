#include "route/redirection.h"

#include <charconv>
#include <string>

#include "base/authority.h"
#include "route/slot.h"

namespace belay {

namespace {

constexpr std::string_view kMoved = "MOVED ";
constexpr std::string_view kAsk = "ASK ";

// All of it, in decimal.
std::optional<std::uint16_t> read_number(std::string_view text) {
  std::uint16_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? std::make_optional(number) : std::nullopt;
}

}  // namespace

// "MOVED 3999 127.0.0.1:6381"
std::optional<Redirection> read_redirection(std::string_view error, const Endpoint& from) {
  Redirection found;
  found.has_moved = error.starts_with(kMoved);
  if (!found.has_moved && !error.starts_with(kAsk)) {
    return std::nullopt;
  }
  const std::string_view words = error.substr(found.has_moved ? kMoved.size() : kAsk.size());
  const std::size_t space = words.find(' ');
  const std::size_t colon = words.rfind(':');  // those before are an IPv6 address's
  if (space == std::string_view::npos || colon == std::string_view::npos || colon < space) {
    return std::nullopt;
  }
  const auto slot = read_number(words.substr(0, space));
  const auto port = read_number(words.substr(colon + 1));
  if (!slot || *slot >= kSlots || !port || *port == 0) {
    return std::nullopt;
  }
  const std::string_view host = words.substr(space + 1, colon - space - 1);
  found.slot = *slot;
  found.where = {host.empty() ? from.host : std::string(host), *port, "", from.tls};
  return is_host(found.where.host) ? std::make_optional(found) : std::nullopt;
}

}  // namespace belay
