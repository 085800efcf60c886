#include "route/info.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace belay {

namespace {

// Replicas report once a second.
constexpr long kLargeLag = 5;
constexpr long kMostReplicas = 1000;

// Of the replica that is least behind, in seconds; -1: there is none.
long least_lag(std::string_view info) {
  long least = -1;
  for (long i = 0; i < kMostReplicas; ++i) {
    const std::string_view replica = info_field(info, "slave" + std::to_string(i) + ":");
    const std::size_t found = replica.find("lag=");
    if (found == std::string_view::npos) {
      break;
    }
    const long lag = std::atol(std::string(replica.substr(found + 4)).c_str());
    least = least < 0 ? lag : std::min(least, lag);
  }
  return least;
}

}  // namespace

std::string_view info_field(std::string_view info, std::string_view name) {
  const std::size_t start = info.find(name);
  if (start == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = info.substr(start + name.size());
  return rest.substr(0, rest.find_first_of("\r\n"));
}

// A server shows how many good replicas it has where it wants any.
std::string risk_of_failover(std::string_view info) {
  if (info_field(info, "role:") != "master") {
    return "";
  }
  if (info_field(info, "min_slaves_good_slaves:").empty()) {
    return "its min-replicas-to-write is 0";
  }
  const long lag = least_lag(info);
  return lag >= kLargeLag ? "its nearest replica is " + std::to_string(lag) + " s behind" : "";
}

}  // namespace belay
