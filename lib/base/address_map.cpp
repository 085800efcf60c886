#include "base/address_map.h"

#include "base/authority.h"

namespace belay {

namespace {

// What is wrong with host:port; "": nothing.
std::string read_address(std::string_view text, Endpoint* endpoint) {
  Authority authority;
  if (const Flaw flaw = split_authority(text, &authority); flaw.any()) {
    return flaw.what;
  }
  if (authority.host.empty() || !authority.port) {
    return "an address is host:port";
  }
  endpoint->host = std::string(authority.host);
  endpoint->port = *authority.port;
  return host_flaw(authority.host);
}

std::string key_of(const Endpoint& announced) {
  return in_lower_case(announced.display());
}

}  // namespace

AddressMap::AddressMap(std::string_view text) {
  static_cast<void>(read(text));
}

std::string AddressMap::flaw(std::string_view text) {
  return AddressMap().read(text);
}

std::string AddressMap::read(std::string_view text) {
  for (bool more = !text.empty(); more;) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    more = comma != std::string_view::npos;
    text = more ? text.substr(comma + 1) : std::string_view();
    const std::size_t mark = item.find('=');
    if (mark == std::string_view::npos) {
      return "'" + std::string(item) + "' is not announced=reachable";
    }
    Endpoint announced;
    Endpoint reached;
    std::string wrong = read_address(item.substr(0, mark), &announced);
    wrong = wrong.empty() ? read_address(item.substr(mark + 1), &reached) : wrong;
    if (wrong.empty() && !entries_.emplace(key_of(announced), reached).second) {
      wrong = "that address was there before";
    }
    if (!wrong.empty()) {
      return "'" + std::string(item) + "': " + wrong;
    }
  }
  return "";
}

Endpoint AddressMap::reachable(const Endpoint& announced) const {
  const auto found = entries_.find(key_of(announced));
  Endpoint endpoint = announced;
  if (found != entries_.end()) {
    endpoint.host = found->second.host;
    endpoint.port = found->second.port;
  }
  return endpoint;
}

}  // namespace belay
