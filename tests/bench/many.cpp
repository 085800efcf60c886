#include "many.h"

namespace belay::bench {

void take_grants(Target& target, int acquires, std::int64_t began_ns, Slice* slice) {
  for (int left = acquires; left > 0; --left) {
    belay_event* event = belay_next(target.get(), -1);
    if (belay_event_status(event) == BELAY_OK) {
      slice->latencies_us.push_back(static_cast<double>(now_ns() - began_ns) / 1e3);
      target.release_nowait(belay_event_hold(event));
    }
    belay_event_free(event);
  }
  slice->seconds = static_cast<double>(now_ns() - began_ns) / 1e9;
}

Slice take_many(Target& target, const std::string& prefix, int names, std::int64_t& count) {
  Slice slice;
  const std::int64_t began = now_ns();
  for (int i = 1; i <= names; ++i) {
    Request request(name_of(prefix.c_str(), ++count).c_str());
    expect_ok(belay_submit_acquire(target.get(), i, request.get(), 0, -1), "belay_submit_acquire");
  }
  take_grants(target, names, began, &slice);
  slice.count = static_cast<std::int64_t>(slice.latencies_us.size());
  return slice;
}

}  // namespace belay::bench
