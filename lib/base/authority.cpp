#include "base/authority.h"

#include <algorithm>
#include <charconv>

namespace belay {

namespace {

constexpr std::size_t kLongestHost = 253;  // of a name in DNS

std::optional<std::uint16_t> read_port(std::string_view digits) {
  std::uint16_t port = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, port);
  return error == std::errc() && stop == end && port > 0 ? std::optional(port) : std::nullopt;
}

// Where the host ends; what follows it still has its colon.
Flaw split(std::string_view text, std::string_view* host, std::string_view* port) {
  if (!text.starts_with('[')) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    *host = text.substr(0, colon);
    *port = text.substr(colon);
    return {};
  }
  const std::size_t close = text.find(']');
  if (close == std::string_view::npos) {
    return {"the bracket of the IPv6 address is not closed", text};
  }
  *host = text.substr(1, close - 1);
  *port = text.substr(close + 1);
  if (host->empty()) {
    return {"there is no address in the brackets", text};
  }
  if (!port->empty() && !port->starts_with(':')) {
    return {"only a port may follow the IPv6 address", *port};
  }
  return {};
}

}  // namespace

Flaw split_authority(std::string_view text, Authority* authority) {
  std::string_view port;
  if (Flaw flaw = split(text, &authority->host, &port); flaw.any()) {
    return flaw;
  }
  if (port.empty()) {
    return {};
  }
  authority->port = read_port(port.substr(1));
  return authority->port
             ? Flaw()
             : Flaw{
                   "the port is not a number in 1..65535 (a password stands before an @, an IPv6 "
                   "address in brackets)",
                   port};
}

std::string host_flaw(std::string_view host) {
  const bool is_host = std::none_of(host.begin(), host.end(), [](char byte) {
    const auto code = static_cast<unsigned char>(byte);
    return code <= ' ' || code == 0x7F || byte == '#';
  });
  if (!is_host) {
    return "the host has a space, a control byte or a '#'";
  }
  return host.size() > kLongestHost
             ? "the host has more than " + std::to_string(kLongestHost) + " bytes"
             : "";
}

bool is_host(std::string_view text) {
  const bool is_ascii =
      std::all_of(text.begin(), text.end(), [](char byte) { return byte > ' ' && byte < 0x7F; });
  return !text.empty() && text != "?" && is_ascii && host_flaw(text).empty();
}

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char byte) {
    return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
  });
  return text;
}

}  // namespace belay
