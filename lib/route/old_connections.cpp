#include "route/old_connections.h"

namespace belay {

namespace {

constexpr std::size_t kMost = 64;

}  // namespace

bool ServerRun::may_be(const ServerRun& other) const {
  const bool told = !run_id.empty() && !other.run_id.empty();
  return told ? run_id == other.run_id : where == other.where;
}

void OldConnections::add(const ServerRun& server, std::int64_t id) {
  old_.push_back({server, id});
  if (old_.size() > kMost) {
    old_.pop_front();
  }
}

std::vector<std::int64_t> OldConnections::of(const ServerRun& server) const {
  std::vector<std::int64_t> ids;
  for (const OldConnection& old : old_) {
    if (!old.server.run_id.empty() && old.server.run_id == server.run_id) {
      ids.push_back(old.id);
    }
  }
  return ids;
}

bool OldConnections::forget(const ServerRun& server) {
  return std::erase_if(
             old_, [&server](const OldConnection& old) { return old.server.may_be(server); }) > 0;
}

}  // namespace belay
