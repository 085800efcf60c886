// Where servers are reached that announce other addresses, as behind NAT or in containers. A value.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/endpoint.h"

namespace belay {

class AddressMap {
 public:
  AddressMap() = default;

  // Of text that has no flaw.
  explicit AddressMap(std::string_view text);

  // What is wrong with announced=reachable,announced=reachable..., each of them host:port; "":
  // nothing.
  static std::string flaw(std::string_view text);

  // Where that is reached which is announced so: there, if the map does not say otherwise.
  [[nodiscard]] Endpoint reachable(const Endpoint& announced) const;

 private:
  std::string read(std::string_view text);

  std::unordered_map<std::string, Endpoint> entries_;  // by what is announced, in lower case
};

}  // namespace belay
