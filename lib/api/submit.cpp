// The asynchronous calls of the C API.
#include "api/calls.h"

namespace {

using belay::Client;
using belay::Status;

// Submits the call that `make` puts together. Why it was refused, other than by its event, is for
// the log of somebody who looks for a defect in the host.
template <typename Make>
std::int32_t submit(belay_client* client, std::int64_t tag, Make make) {
  if (const Status status = belay::usable(client); !status.ok()) {
    return status.code;
  }
  const belay::Visit visit(client->rep->visits());
  Status status = belay::checked_tag(tag);
  if (status.ok()) {
    status = client->rep->submit(tag, make());
  }
  if (!status.ok()) {
    client->rep->log(BELAY_LOG_DEBUG, "submission refused: " + status.message);
  }
  return status.code;
}

// As submit; waits up to `patience_ms` for the event. Null: it comes by the queue.
template <typename Make>
belay_event* within(std::int32_t kind, belay_client* client, std::int64_t tag,
                    std::int64_t patience_ms, Make make) {
  Status status = belay::usable(client);
  if (status.ok()) {
    status = belay::checked_tag(tag);
  }
  if (!status.ok()) {
    return new belay_event{belay::ended(kind, tag, std::move(status))};
  }
  const belay::Visit visit(client->rep->visits());
  const belay::Result<belay::Micros> patience = belay::checked_wait("patience_ms", patience_ms);
  Client::Call call = make();
  if (call.checked.ok()) {
    call.checked = patience.status;
  }
  std::unique_ptr<belay::Event> event = client->rep->within(tag, call, patience.value);
  return event == nullptr ? nullptr : new belay_event{std::move(*event)};
}

}  // namespace

int32_t belay_submit_acquire(belay_client* client, int64_t tag, const belay_request* request,
                             int64_t owner, int64_t wait_ms) {
  return submit(client, tag,
                [&] { return belay::acquisition(client, request, owner, wait_ms, true); });
}

int32_t belay_submit_release(belay_client* client, int64_t tag, int64_t hold) {
  return submit(client, tag, [&] { return belay::release_of(hold); });
}

int32_t belay_submit_ping(belay_client* client, int64_t tag) {
  return submit(client, tag, [] { return belay::ping_of(); });
}

int32_t belay_submit_extend(belay_client* client, int64_t tag, int64_t hold, int64_t lease_ms) {
  return submit(client, tag, [&] { return belay::extension_of(hold, lease_ms); });
}

int32_t belay_submit_downgrade(belay_client* client, int64_t tag, int64_t hold) {
  return submit(client, tag, [&] { return belay::downgrade_of(hold); });
}

int32_t belay_submit_verify(belay_client* client, int64_t tag, int64_t hold) {
  return submit(client, tag, [&] { return belay::verification_of(hold); });
}

int32_t belay_submit_inspect(belay_client* client, int64_t tag, const char* name,
                             int64_t name_size) {
  return submit(client, tag, [&] { return belay::inspection_of(client, name, name_size); });
}

int32_t belay_submit_break(belay_client* client, int64_t tag, const char* name, int64_t name_size,
                           int64_t fence) {
  return submit(client, tag, [&] { return belay::break_of(client, name, name_size, fence); });
}

int32_t belay_submit_list(belay_client* client, int64_t tag, const char* pattern,
                          int64_t pattern_size, int64_t limit) {
  return submit(client, tag,
                [&] { return belay::listing_of(client, pattern, pattern_size, limit); });
}

int32_t belay_submit_fenced_write(belay_client* client, int64_t tag, const char* key,
                                  int64_t key_size, int64_t fence, int32_t argc,
                                  const char* const* argv, const int64_t* sizes) {
  return submit(client, tag,
                [&] { return belay::write_of(client, key, key_size, fence, argc, argv, sizes); });
}

int32_t belay_submit_fenced_write_words(belay_client* client, int64_t tag, const char* key,
                                        int64_t key_size, int64_t fence, const belay_words* words) {
  return submit(client, tag, [&] { return belay::write_of(client, key, key_size, fence, words); });
}

int32_t belay_submit_semaphore_set_limit(belay_client* client, int64_t tag, const char* name,
                                         int64_t name_size, int64_t limit) {
  return submit(client, tag, [&] { return belay::limit_of(client, name, name_size, limit); });
}

int32_t belay_submit_semaphore_available(belay_client* client, int64_t tag, const char* name,
                                         int64_t name_size) {
  return submit(client, tag, [&] { return belay::available_of(client, name, name_size); });
}

int32_t belay_submit_latch_set(belay_client* client, int64_t tag, const char* name,
                               int64_t name_size, int64_t count, int64_t ttl_ms) {
  return submit(client, tag,
                [&] { return belay::latch_setting_of(client, name, name_size, count, ttl_ms); });
}

int32_t belay_submit_latch_count_down(belay_client* client, int64_t tag, const char* name,
                                      int64_t name_size, int64_t n) {
  return submit(client, tag, [&] { return belay::count_down_of(client, name, name_size, n); });
}

int32_t belay_submit_latch_count(belay_client* client, int64_t tag, const char* name,
                                 int64_t name_size) {
  return submit(client, tag, [&] { return belay::count_of(client, name, name_size); });
}

belay_event* belay_acquire_within(belay_client* client, int64_t tag, const belay_request* request,
                                  int64_t owner, int64_t wait_ms, int64_t patience_ms) {
  return within(BELAY_EVENT_ACQUIRED, client, tag, patience_ms,
                [&] { return belay::acquisition(client, request, owner, wait_ms, true); });
}

belay_event* belay_release_within(belay_client* client, int64_t tag, int64_t hold,
                                  int64_t patience_ms) {
  return within(BELAY_EVENT_RELEASED, client, tag, patience_ms,
                [&] { return belay::release_of(hold); });
}

int32_t belay_cancel(belay_client* client, int64_t tag) {
  if (const Status status = belay::usable(client); !status.ok()) {
    return status.code;
  }
  if (!belay::checked_tag(tag).ok()) {  // blocking calls and parts of submissions have such tags
    return BELAY_UNKNOWN_TAG;
  }
  const belay::Visit visit(client->rep->visits());
  return client->rep
      ->tell([tag](belay::Engine& engine, std::int64_t, belay::Micros now) {
        return engine.cancel(tag, now);
      })
      .code;
}

belay_event* belay_next(belay_client* client, int64_t timeout_ms) {
  Status status = belay::usable(client);
  if (status.ok()) {
    status = belay::checked_wait("timeout_ms", timeout_ms).status;
  }
  if (!status.ok()) {
    return new belay_event{belay::ended(BELAY_EVENT_END, 0, std::move(status))};
  }
  const belay::Visit visit(client->rep->visits());
  std::unique_ptr<belay::Event> event = client->rep->next(timeout_ms);
  return event == nullptr ? nullptr : new belay_event{std::move(*event)};
}
