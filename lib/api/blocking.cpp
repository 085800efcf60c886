// The blocking calls of the C API.
#include "api/calls.h"

namespace {

using belay::Client;
using belay::Event;
using belay::Status;

// Hands `event` to a caller who wants it, and gives its status.
std::int32_t answer(Event event, belay_event** out) {
  const std::int32_t code = event.status.code;
  if (out != nullptr) {
    *out = new belay_event{std::move(event)};
  }
  return code;
}

// What comes of a call, which `make` puts together once the client may be used.
template <typename Make>
Event event_of(std::int32_t kind, belay_client* client, Make make) {
  if (Status status = belay::usable(client); !status.ok()) {
    return belay::ended(kind, 0, std::move(status));
  }
  const belay::Visit visit(client->rep->visits());
  return client->rep->call(make());
}

// The number that the call is about, or minus its status.
std::int64_t number(Event event, std::int64_t value, belay_event** out) {
  const std::int32_t code = answer(std::move(event), out);
  return code == BELAY_OK ? value : -std::int64_t{code};
}

// A hold, or the generation of a latch.
std::int64_t gained(Event event, belay_event** out) {
  const std::int64_t value = event.generation != 0 ? event.generation : event.hold;
  return number(std::move(event), value, out);
}

}  // namespace

int32_t belay_client_ping(belay_client* client, belay_event** event) {
  return answer(event_of(BELAY_EVENT_PINGED, client, [] { return belay::ping_of(); }), event);
}

int64_t belay_lock(belay_client* client, const char* name, int64_t name_size, int64_t wait_ms,
                   belay_event** event) {
  return gained(event_of(BELAY_EVENT_ACQUIRED, client,
                         [&] { return belay::lock_acquisition(client, name, name_size, wait_ms); }),
                event);
}

int64_t belay_acquire(belay_client* client, const belay_request* request, int64_t owner,
                      int64_t wait_ms, belay_event** event) {
  return gained(
      event_of(BELAY_EVENT_ACQUIRED, client,
               [&] { return belay::acquisition(client, request, owner, wait_ms, false); }),
      event);
}

int32_t belay_release(belay_client* client, int64_t hold) {
  return answer(event_of(BELAY_EVENT_RELEASED, client, [&] { return belay::release_of(hold); }),
                nullptr);
}

int32_t belay_extend(belay_client* client, int64_t hold, int64_t lease_ms, belay_event** event) {
  return answer(
      event_of(BELAY_EVENT_EXTENDED, client, [&] { return belay::extension_of(hold, lease_ms); }),
      event);
}

int32_t belay_downgrade(belay_client* client, int64_t hold, belay_event** event) {
  return answer(event_of(BELAY_EVENT_DOWNGRADED, client, [&] { return belay::downgrade_of(hold); }),
                event);
}

int32_t belay_verify(belay_client* client, int64_t hold, belay_event** event) {
  return answer(
      event_of(BELAY_EVENT_VERIFIED, client, [&] { return belay::verification_of(hold); }), event);
}

int32_t belay_inspect(belay_client* client, const char* name, int64_t name_size,
                      belay_event** event) {
  return answer(event_of(BELAY_EVENT_INSPECTED, client,
                         [&] { return belay::inspection_of(client, name, name_size); }),
                event);
}

int32_t belay_break(belay_client* client, const char* name, int64_t name_size, int64_t fence,
                    belay_event** event) {
  return answer(event_of(BELAY_EVENT_BROKEN, client,
                         [&] { return belay::break_of(client, name, name_size, fence); }),
                event);
}

int32_t belay_list(belay_client* client, const char* pattern, int64_t pattern_size, int64_t limit,
                   belay_event** event) {
  return answer(event_of(BELAY_EVENT_LISTED, client,
                         [&] { return belay::listing_of(client, pattern, pattern_size, limit); }),
                event);
}

int32_t belay_fenced_write(belay_client* client, const char* key, int64_t key_size, int64_t fence,
                           int32_t argc, const char* const* argv, const int64_t* sizes,
                           belay_event** event) {
  return answer(
      event_of(BELAY_EVENT_WRITTEN, client,
               [&] { return belay::write_of(client, key, key_size, fence, argc, argv, sizes); }),
      event);
}

int32_t belay_fenced_write_words(belay_client* client, const char* key, int64_t key_size,
                                 int64_t fence, const belay_words* words, belay_event** event) {
  return answer(event_of(BELAY_EVENT_WRITTEN, client,
                         [&] { return belay::write_of(client, key, key_size, fence, words); }),
                event);
}

int32_t belay_semaphore_set_limit(belay_client* client, const char* name, int64_t name_size,
                                  int64_t limit, belay_event** event) {
  return answer(event_of(BELAY_EVENT_SEMAPHORE_LIMIT_SET, client,
                         [&] { return belay::limit_of(client, name, name_size, limit); }),
                event);
}

int64_t belay_semaphore_available(belay_client* client, const char* name, int64_t name_size,
                                  belay_event** event) {
  Event done = event_of(BELAY_EVENT_SEMAPHORE_AVAILABLE, client,
                        [&] { return belay::available_of(client, name, name_size); });
  const std::int64_t value = done.available;
  return number(std::move(done), value, event);
}

int64_t belay_latch_set(belay_client* client, const char* name, int64_t name_size, int64_t count,
                        int64_t ttl_ms, belay_event** event) {
  Event done = event_of(BELAY_EVENT_LATCH_SET, client, [&] {
    return belay::latch_setting_of(client, name, name_size, count, ttl_ms);
  });
  const std::int64_t value = done.generation;
  return number(std::move(done), value, event);
}

int64_t belay_latch_count_down(belay_client* client, const char* name, int64_t name_size, int64_t n,
                               belay_event** event) {
  Event done = event_of(BELAY_EVENT_LATCH_COUNTED_DOWN, client,
                        [&] { return belay::count_down_of(client, name, name_size, n); });
  const std::int64_t value = done.count;
  return number(std::move(done), value, event);
}

int64_t belay_latch_count(belay_client* client, const char* name, int64_t name_size,
                          belay_event** event) {
  Event done = event_of(BELAY_EVENT_LATCH_COUNT, client,
                        [&] { return belay::count_of(client, name, name_size); });
  const std::int64_t value = done.count;
  return number(std::move(done), value, event);
}
