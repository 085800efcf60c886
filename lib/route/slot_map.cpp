#include "route/slot_map.h"

#include <string>
#include <string_view>

#include "base/authority.h"
#include "route/slot.h"

namespace belay {

namespace {

constexpr std::int64_t kLastPort = 65535;

// Null means the sender's own. A node that is to announce a name and has none says "?", and its
// address behind.
std::string_view host_of(Reply master, const Endpoint& from) {
  const std::string_view host = master.at(0).text();
  const std::string_view ip =
      host == "?" && master.size() > 3 ? master.at(3).text_of("ip") : std::string_view();
  return host.empty() ? from.host : ip.empty() ? host : ip;
}

// None: it is no range. What else stands behind the master are its replicas.
std::optional<SlotRange> read_range(Reply range, const Endpoint& from) {
  const bool is_range = range.size() >= 3 && range.at(0).is_integer() && range.at(1).is_integer() &&
                        range.at(2).size() >= 2 && range.at(2).at(1).is_integer();
  if (!is_range) {
    return std::nullopt;
  }
  const std::int64_t first = range.at(0).integer();
  const std::int64_t last = range.at(1).integer();
  const Reply master = range.at(2);
  const std::int64_t port = master.at(1).integer();
  if (first < 0 || first > last || last >= kSlots || port < 0 || port > kLastPort) {
    return std::nullopt;
  }
  return SlotRange{
      static_cast<std::uint16_t>(first),
      static_cast<std::uint16_t>(last),
      {std::string(host_of(master, from)), static_cast<std::uint16_t>(port), "", from.tls}};
}

}  // namespace

std::optional<std::vector<SlotRange>> read_slot_map(Reply reply, const Endpoint& from) {
  if (!reply.is_array()) {
    return std::nullopt;
  }
  std::vector<SlotRange> ranges;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    std::optional<SlotRange> range = read_range(reply.at(i), from);
    if (!range) {
      return std::nullopt;
    }
    // A node that does not know the other's address, or has no TLS port of it, says "?" or 0.
    if (range->master.port != 0 && is_host(range->master.host)) {
      ranges.push_back(std::move(*range));
    }
  }
  return ranges;
}

}  // namespace belay
