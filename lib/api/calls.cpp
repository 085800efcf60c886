#include "api/calls.h"

#include <string>
#include <utility>

#include "dialect/fenced_write.h"
#include "dialect/limit.h"
#include "dialect/queries.h"

namespace belay {

namespace {

// Of a latch.
constexpr std::int64_t kMostCount = 1'000'000'000;
constexpr std::int64_t kMostListed = 1'000'000;
constexpr std::size_t kMostPattern = 65536;

using Name = Result<std::string_view>;

// The request with what the client knows.
AcquireRequest completed(const belay_client* client, const belay_request& request) {
  const Client& rep = *client->rep;
  AcquireRequest copy = request.request;
  copy.primitive = &rep.dialect().of(request.kind);
  for (auto& [name, want] : copy.names) {
    const std::string group =
        request.identity.empty() ? want.group : kIdentityGroup + request.identity;
    want = copy.want;
    want.group = group;
  }
  copy.name = copy.names.front().first;
  copy.want = copy.names.front().second;
  copy.max_hold = request.has_max_hold ? copy.max_hold : rep.config().max_hold;
  return copy;
}

Status checked_request(const belay_request* request, std::int64_t wait_ms) {
  if (request == nullptr) {
    return {BELAY_INVALID_ARGUMENT, "the request was NULL"};
  }
  if (!request->error.ok()) {
    return request->error;
  }
  if (request->request.names.empty()) {
    return {BELAY_INVALID_ARGUMENT, "the request had no name"};
  }
  request->used = true;
  for (const auto& [name, want] : request->request.names) {
    if (!request->identity.empty() && !want.group.empty()) {
      return {BELAY_INVALID_ARGUMENT, "an identity was set for the shared name '" + name + "'"};
    }
  }
  if (request->request.want.permits == 0 && wait_ms != 0) {
    return {BELAY_INVALID_ARGUMENT,
            "permits was 0: only a try, without a wait, asks for all permits that are free"};
  }
  return {};
}

Client::Call acquisition_of(const Status& checked, AcquireRequest request, std::int64_t wait_ms) {
  const Result<Micros> wait = checked_wait("wait_ms", wait_ms);
  return {BELAY_EVENT_ACQUIRED, checked.ok() ? wait.status : checked,
          [request = std::move(request), wait = wait.value](Engine& engine, std::int64_t tag,
                                                            Micros now) {
            return engine.acquire(tag, request, wait, now);
          }};
}

// A question to the server, which `make` puts once all is checked.
template <typename Make>
Client::Call question(std::int32_t kind, Status checked, Make make) {
  return {kind, std::move(checked), [make](Engine& engine, std::int64_t tag, Micros now) {
            return engine.query(tag, make(), now);
          }};
}

Status checked_count(const Name& name, const char* what, std::int64_t value, std::int64_t low,
                     std::int64_t high) {
  return name.ok() ? checked_range(what, value, low, high) : name.status;
}

using Words = std::vector<std::string>;

Result<Words> checked_words(std::int32_t argc, const char* const* argv, const std::int64_t* sizes) {
  Status status = checked_range("argc", argc, 1, kMostWords);
  if (status.ok() && argv == nullptr) {
    status = Status(BELAY_INVALID_ARGUMENT, "argv was NULL");
  }
  Words words;
  for (std::int32_t i = 0; i < argc && status.ok(); ++i) {
    const Name word =
        checked_word("argv[" + std::to_string(i) + "]", argv[i], sizes == nullptr ? -1 : sizes[i]);
    status = word.status;
    words.emplace_back(word.value);
  }
  return status.ok() ? Result(std::move(words)) : Result<Words>(status);
}

Result<Words> checked_words(const belay_words* words) {
  if (words == nullptr) {
    return Status(BELAY_INVALID_ARGUMENT, "the words were NULL");
  }
  if (!words->error.ok()) {
    return words->error;
  }
  if (words->list.empty()) {
    return Status(BELAY_INVALID_ARGUMENT, "there were no words");
  }
  return words->list;
}

Client::Call write_of(belay_client* client, const Name& key, std::int64_t fence,
                      Result<Words> words) {
  Status status = checked_count(key, "fence", fence, 1, kMaxFence);
  FencedWrite write;
  write.key = key.value;
  write.fence = fence;
  write.command = std::move(words.value);
  return question(BELAY_EVENT_WRITTEN, status.ok() ? words.status : status,
                  [client, write = std::move(write)] {
                    return fenced_write_query(client->rep->config().prefix, write);
                  });
}

}  // namespace

Status usable(const belay_client* client) {
  if (client == nullptr) {
    return {BELAY_INVALID_ARGUMENT, "the client was NULL"};
  }
  if (client->rep->forked()) {
    return {BELAY_FORKED, "the client belongs to the parent of this process"};
  }
  return {};
}

Status checked_tag(std::int64_t tag) {
  return checked_range("tag", tag, 1, kMaxId);
}

Client::Call acquisition(belay_client* client, const belay_request* request, std::int64_t owner,
                         std::int64_t wait_ms, bool notify) {
  Status checked = checked_range("owner", owner, 0, kMaxId);
  if (checked.ok()) {
    checked = checked_request(request, wait_ms);
  }
  if (checked.ok() && owner != 0 && request->kind != Kind::kLock) {
    checked = {BELAY_INVALID_ARGUMENT,
               "owner was " + std::to_string(owner) + ": only a lock has an owner"};
  }
  if (!checked.ok()) {
    return acquisition_of(checked, {}, wait_ms);
  }
  AcquireRequest copy = completed(client, *request);
  copy.owner = owner;
  copy.notify = notify || copy.notify;
  return acquisition_of({}, std::move(copy), wait_ms);
}

Client::Call lock_acquisition(belay_client* client, const char* name, std::int64_t name_size,
                              std::int64_t wait_ms) {
  const Name checked = checked_name(name, name_size);
  AcquireRequest request;
  request.primitive = &client->rep->dialect().lock;
  request.name = checked.value;
  request.max_hold = client->rep->config().max_hold;
  return acquisition_of(checked.status, std::move(request), wait_ms);
}

Client::Call release_of(std::int64_t hold) {
  return {BELAY_EVENT_RELEASED, {}, [hold](Engine& engine, std::int64_t tag, Micros now) {
            return engine.release(tag, hold, now);
          }};
}

Client::Call extension_of(std::int64_t hold, std::int64_t lease_ms) {
  return {BELAY_EVENT_EXTENDED, checked_lease(lease_ms),
          [=](Engine& engine, std::int64_t tag, Micros now) {
            return engine.extend(tag, hold, lease_ms * kMillisecond, now);
          }};
}

Client::Call downgrade_of(std::int64_t hold) {
  return {BELAY_EVENT_DOWNGRADED, {}, [hold](Engine& engine, std::int64_t tag, Micros now) {
            return engine.downgrade(tag, hold, kReaders, now);
          }};
}

Client::Call verification_of(std::int64_t hold) {
  return {BELAY_EVENT_VERIFIED, {}, [hold](Engine& engine, std::int64_t tag, Micros now) {
            return engine.verify(tag, hold, now);
          }};
}

Client::Call inspection_of(belay_client* client, const char* name, std::int64_t name_size) {
  const Name checked = checked_name(name, name_size);
  return question(BELAY_EVENT_INSPECTED, checked.status, [client, name = checked.value] {
    return inspect_query(client->rep->dialect(), name);
  });
}

Client::Call break_of(belay_client* client, const char* name, std::int64_t name_size,
                      std::int64_t fence) {
  const Name checked = checked_name(name, name_size);
  return question(BELAY_EVENT_BROKEN, checked_count(checked, "fence", fence, 0, kMaxId),
                  [client, fence, name = checked.value] {
                    return break_query(client->rep->dialect(), name, fence);
                  });
}

Client::Call listing_of(belay_client* client, const char* pattern, std::int64_t pattern_size,
                        std::int64_t limit) {
  const Name checked = checked_name(pattern, pattern_size, "the pattern", kMostPattern);
  return question(BELAY_EVENT_LISTED, checked_count(checked, "limit", limit, 1, kMostListed),
                  [client, limit, pattern = std::string(checked.value)] {
                    return list_query(client->rep->dialect(), pattern, limit);
                  });
}

Client::Call write_of(belay_client* client, const char* key, std::int64_t key_size,
                      std::int64_t fence, std::int32_t argc, const char* const* argv,
                      const std::int64_t* sizes) {
  return write_of(client, checked_name(key, key_size, "the key"), fence,
                  checked_words(argc, argv, sizes));
}

Client::Call write_of(belay_client* client, const char* key, std::int64_t key_size,
                      std::int64_t fence, const belay_words* words) {
  return write_of(client, checked_name(key, key_size, "the key"), fence, checked_words(words));
}

Client::Call limit_of(belay_client* client, const char* name, std::int64_t name_size,
                      std::int64_t limit) {
  const Name checked = checked_name(name, name_size);
  return question(BELAY_EVENT_SEMAPHORE_LIMIT_SET,
                  checked_count(checked, "limit", limit, 1, kMostPermits),
                  [client, limit, name = checked.value] {
                    return limit_query(client->rep->dialect().semaphore, name, limit);
                  });
}

Client::Call available_of(belay_client* client, const char* name, std::int64_t name_size) {
  const Name checked = checked_name(name, name_size);
  return question(BELAY_EVENT_SEMAPHORE_AVAILABLE, checked.status, [client, name = checked.value] {
    return available_query(client->rep->dialect().semaphore, name);
  });
}

Client::Call latch_setting_of(belay_client* client, const char* name, std::int64_t name_size,
                              std::int64_t count, std::int64_t ttl_ms) {
  const Name checked = checked_name(name, name_size);
  Status status = checked_count(checked, "count", count, 1, kMostCount);
  if (status.ok() && ttl_ms != 0) {
    status = checked_range("ttl_ms", ttl_ms, 100, kMonthMs);
  }
  return question(BELAY_EVENT_LATCH_SET, std::move(status),
                  [client, count, ttl_ms, name = checked.value] {
                    Client& rep = *client->rep;
                    return latch_set_query(rep.dialect().latch, name, rep.next_request(), count,
                                           ttl_ms * kMillisecond);
                  });
}

Client::Call count_down_of(belay_client* client, const char* name, std::int64_t name_size,
                           std::int64_t by) {
  const Name checked = checked_name(name, name_size);
  return question(BELAY_EVENT_LATCH_COUNTED_DOWN, checked_count(checked, "n", by, 1, kMostCount),
                  [client, by, name = checked.value] {
                    Client& rep = *client->rep;
                    return latch_count_down_query(rep.dialect().latch, name, rep.next_request(),
                                                  by);
                  });
}

Client::Call count_of(belay_client* client, const char* name, std::int64_t name_size) {
  const Name checked = checked_name(name, name_size);
  return question(BELAY_EVENT_LATCH_COUNT, checked.status, [client, name = checked.value] {
    return latch_count_query(client->rep->dialect().latch, name);
  });
}

Client::Call ping_of() {
  return question(BELAY_EVENT_PINGED, {}, [] { return ping_query(); });
}

}  // namespace belay
