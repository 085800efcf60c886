#include "hammer/calls.h"

#include <atomic>

namespace belay::hammer {

std::int64_t release_now(belay_client* client, std::int64_t hold, belay_event** why) {
  static std::atomic<std::int64_t> last_tag{std::int64_t{1} << 50};
  *why = belay_release_within(client, ++last_tag, hold, -1);
  return belay_event_status(*why);
}

Call acquire_call(belay_request* request, std::int64_t owner, std::int64_t wait_ms) {
  return {"acquire",
          [=](belay_client* client, belay_event** why) {
            return belay_acquire(client, request, owner, wait_ms, why);
          },
          [=](belay_client* client, std::int64_t tag) {
            return belay_submit_acquire(client, tag, request, owner, wait_ms);
          },
          true,
          [=](belay_client* client, std::int64_t tag, std::int64_t patience_ms) {
            return belay_acquire_within(client, tag, request, owner, wait_ms, patience_ms);
          }};
}

Call release_call(std::int64_t hold) {
  return {"release",
          [=](belay_client* client, belay_event** why) { return release_now(client, hold, why); },
          [=](belay_client* client, std::int64_t tag) {
            return belay_submit_release(client, tag, hold);
          },
          false,
          [=](belay_client* client, std::int64_t tag, std::int64_t patience_ms) {
            return belay_release_within(client, tag, hold, patience_ms);
          }};
}

Call release_nowait_call(std::int64_t hold) {
  return {"release without waiting", [=](belay_client* client, belay_event** /*why*/) {
            return belay_release_nowait(client, hold);
          }};
}

Call verify_call(std::int64_t hold) {
  return {"verify",
          [=](belay_client* client, belay_event** why) { return belay_verify(client, hold, why); },
          [=](belay_client* client, std::int64_t tag) {
            return belay_submit_verify(client, tag, hold);
          }};
}

Call extend_call(std::int64_t hold, std::int64_t lease_ms) {
  return {"extend",
          [=](belay_client* client, belay_event** why) {
            return belay_extend(client, hold, lease_ms, why);
          },
          [=](belay_client* client, std::int64_t tag) {
            return belay_submit_extend(client, tag, hold, lease_ms);
          }};
}

Call downgrade_call(std::int64_t hold) {
  return {
      "downgrade",
      [=](belay_client* client, belay_event** why) { return belay_downgrade(client, hold, why); },
      [=](belay_client* client, std::int64_t tag) {
        return belay_submit_downgrade(client, tag, hold);
      }};
}

Call write_call(const std::string& key, std::int64_t fence, const belay_words* increment) {
  static const char* const kIncrement[] = {"INCR"};
  return {"fenced write",
          [=](belay_client* client, belay_event** why) {
            return belay_fenced_write(client, key.c_str(), -1, fence, 1, kIncrement, nullptr, why);
          },
          [=](belay_client* client, std::int64_t tag) {
            return belay_submit_fenced_write_words(client, tag, key.c_str(), -1, fence, increment);
          }};
}

Call break_call(const std::string& name) {
  return {"break",
          [=](belay_client* client, belay_event** why) {
            return belay_break(client, name.c_str(), -1, 0, why);
          },
          [=](belay_client* client, std::int64_t tag) {
            return belay_submit_break(client, tag, name.c_str(), -1, 0);
          }};
}

Call inspect_call(const std::string& name) {
  return {"inspect",
          [=](belay_client* client, belay_event** why) {
            return belay_inspect(client, name.c_str(), -1, why);
          },
          [=](belay_client* client, std::int64_t tag) {
            return belay_submit_inspect(client, tag, name.c_str(), -1);
          }};
}

Call list_call() {
  return {"list",
          [=](belay_client* client, belay_event** why) {
            return belay_list(client, "*", -1, 100, why);
          },
          [=](belay_client* client, std::int64_t tag) {
            return belay_submit_list(client, tag, "*", -1, 100);
          }};
}

Call available_call(const std::string& name) {
  return {"available",
          [=](belay_client* client, belay_event** why) {
            return belay_semaphore_available(client, name.c_str(), -1, why);
          },
          [=](belay_client* client, std::int64_t tag) {
            return belay_submit_semaphore_available(client, tag, name.c_str(), -1);
          },
          true};
}

Call limit_call(const std::string& name, std::int64_t limit) {
  return {"set limit",
          [=](belay_client* client, belay_event** why) {
            return belay_semaphore_set_limit(client, name.c_str(), -1, limit, why);
          },
          [=](belay_client* client, std::int64_t tag) {
            return belay_submit_semaphore_set_limit(client, tag, name.c_str(), -1, limit);
          }};
}

Call latch_set_call(std::int64_t count, std::int64_t ttl_ms) {
  return {"latch set",
          [=](belay_client* client, belay_event** why) {
            return belay_latch_set(client, kLatch.c_str(), -1, count, ttl_ms, why);
          },
          [=](belay_client* client, std::int64_t tag) {
            return belay_submit_latch_set(client, tag, kLatch.c_str(), -1, count, ttl_ms);
          },
          true};
}

Call latch_down_call(std::int64_t n) {
  return {"latch down",
          [=](belay_client* client, belay_event** why) {
            return belay_latch_count_down(client, kLatch.c_str(), -1, n, why);
          },
          [=](belay_client* client, std::int64_t tag) {
            return belay_submit_latch_count_down(client, tag, kLatch.c_str(), -1, n);
          },
          true};
}

Call latch_count_call() {
  return {"latch count",
          [=](belay_client* client, belay_event** why) {
            return belay_latch_count(client, kLatch.c_str(), -1, why);
          },
          [=](belay_client* client, std::int64_t tag) {
            return belay_submit_latch_count(client, tag, kLatch.c_str(), -1);
          },
          true};
}

}  // namespace belay::hammer
