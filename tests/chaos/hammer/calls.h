// The calls of the API that the hammer makes, each in all its ways. What they point to must outlive
// them.
#pragma once

#include <belay/belay.h>

#include <cstdint>
#include <string>

#include "hammer/life.h"

namespace belay::hammer {

inline const std::string kLatch = "latch";

// A blocking release with its details.
std::int64_t release_now(belay_client* client, std::int64_t hold, belay_event** why);

Call acquire_call(belay_request* request, std::int64_t owner, std::int64_t wait_ms);
Call release_call(std::int64_t hold);
// Only blocking.
Call release_nowait_call(std::int64_t hold);
Call verify_call(std::int64_t hold);
Call extend_call(std::int64_t hold, std::int64_t lease_ms);
Call downgrade_call(std::int64_t hold);
// Submitted by words, blocking without them.
Call write_call(const std::string& key, std::int64_t fence, const belay_words* increment);
Call break_call(const std::string& name);
Call inspect_call(const std::string& name);
Call list_call();
Call available_call(const std::string& name);
Call limit_call(const std::string& name, std::int64_t limit);
Call latch_set_call(std::int64_t count, std::int64_t ttl_ms);
Call latch_down_call(std::int64_t n);
Call latch_count_call();

}  // namespace belay::hammer
