// host:port as URLs and options write it, and what may be a host. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay {

// What is wrong with a text, and with which part of it.
struct Flaw {
  std::string what;
  std::string_view part;

  [[nodiscard]] bool any() const { return !what.empty(); }
};

struct Authority {
  std::string_view host;  // without the brackets of IPv6
  std::optional<std::uint16_t> port;
};

// Takes host[:port] or [IPv6][:port] apart.
Flaw split_authority(std::string_view text, Authority* authority);

// Why it is no host; "": it is one, or empty.
std::string host_flaw(std::string_view host);

// What a server may announce as one: in ASCII. Nodes of a cluster write "?" where they know none.
bool is_host(std::string_view text);

// As names of hosts are compared.
std::string in_lower_case(std::string text);

}  // namespace belay
