// The client of the C API: check, convert, call.
#include "api/handles.h"
#include "primitive/guard.h"
#include "primitive/limit.h"
#include "primitive/queries.h"

namespace {

using belay::Client;
using belay::Engine;
using belay::Event;
using belay::Micros;
using belay::Status;

// Words of a fenced write's command: Lua's stack holds some thousands.
constexpr std::int64_t kMostWords = 1000;
// Of a latch.
constexpr std::int64_t kMostCount = 1'000'000'000;

// Of the calling thread's latest call on a client that answered another status than OK.
thread_local std::string last_error;

std::int32_t noted(const Status& status) {
  if (!status.ok()) {
    last_error = status.message.empty() ? belay_status_name(status.code) : status.message;
  }
  return status.code;
}

// What every call needs of its client first.
Status usable(const belay_client* client) {
  if (client == nullptr) {
    return Status(BELAY_INVALID_ARGUMENT, "the client was NULL");
  }
  if (client->rep->forked()) {
    return Status(BELAY_FORKED, "the client belongs to the parent of this process");
  }
  return {};
}

Status checked_tag(std::int64_t tag) {
  return belay::checked_range("tag", tag, 1, belay::kMaxId);
}

// Hands `event` to a caller who wants to know why, and gives its status.
std::int32_t answer(Event event, belay_event** why) {
  const std::int32_t code = noted(event.status);
  if (why != nullptr) {
    *why = new belay_event{std::move(event)};
  }
  return code;
}

std::int32_t refuse(Status status, belay_event** why) {
  Event event;
  event.status = std::move(status);
  return answer(std::move(event), why);
}

// What comes of a call; a refusal comes as an event, too.
Event event_of(belay_client* client, Status checked, const Client::Submission& submission) {
  Event refusal;
  refusal.status = usable(client);
  if (refusal.status.ok()) {
    refusal.status = std::move(checked);
  }
  if (!refusal.status.ok()) {
    return refusal;
  }
  const Client::Visit visit(*client->rep);
  return client->rep->call(submission);
}

std::int32_t call(belay_client* client, Status checked, belay_event** why,
                  const Client::Submission& submission) {
  return answer(event_of(client, std::move(checked), submission), why);
}

// The number that the call is about, or minus its status.
std::int64_t call_for(std::int64_t Event::*number, belay_client* client, Status checked,
                      belay_event** why, const Client::Submission& submission) {
  Event event = event_of(client, std::move(checked), submission);
  const std::int64_t value = event.*number;
  const std::int32_t code = answer(std::move(event), why);
  return code == BELAY_OK ? value : -std::int64_t{code};
}

std::int32_t submit(belay_client* client, std::int64_t tag, Status checked,
                    const Client::Submission& submission) {
  Status status = usable(client);
  if (!status.ok()) {
    return noted(status);
  }
  const Client::Visit visit(*client->rep);
  status = checked_tag(tag);
  if (status.ok()) {
    status = std::move(checked);
  }
  if (status.ok()) {
    status = client->rep->submit(tag, submission);
  }
  if (!status.ok()) {
    client->rep->log(BELAY_LOG_WARNING, "submission refused: " + status.message);
  }
  return noted(status);
}

// What is to be acquired, or why that cannot be said.
belay::Result<belay::AcquireRequest> checked_request(const belay_client* client,
                                                     belay_request* request, std::int64_t wait_ms) {
  if (request == nullptr) {
    return Status(BELAY_INVALID_ARGUMENT, "the request was NULL");
  }
  if (!request->error.ok()) {
    return request->error;
  }
  if (request->request.names.empty()) {
    return Status(BELAY_INVALID_ARGUMENT, "the request had no name");
  }
  request->used = true;
  belay::AcquireRequest copy = request->request;
  copy.primitive = &client->rep->primitive(request->kind);
  copy.many = &client->rep->many();
  for (auto& [name, want] : copy.names) {
    if (!request->identity.empty() && !want.group.empty()) {
      return Status(BELAY_INVALID_ARGUMENT,
                    "an identity was set for the shared name '" + name + "'");
    }
    const std::string group =
        request->identity.empty() ? want.group : belay::kIdentityGroup + request->identity;
    want = copy.want;
    want.group = group;
  }
  copy.name = copy.names.front().first;
  copy.want = copy.names.front().second;
  if (copy.want.permits == 0 && wait_ms != 0) {
    return Status(BELAY_INVALID_ARGUMENT, "wait_ms was " + std::to_string(wait_ms) +
                                              ": only a try asks for all permits that are free");
  }
  if (!request->has_max_hold) {
    copy.max_hold = client->rep->config().max_hold;
  }
  return copy;
}

std::int64_t acquire(belay_client* client, const belay::Result<belay::AcquireRequest>& request,
                     std::int64_t wait_ms, belay_event** why) {
  const belay::Result<Micros> wait = belay::checked_wait("wait_ms", wait_ms);
  if (!request.ok() || !wait.ok()) {
    return -std::int64_t{refuse(request.ok() ? wait.status : request.status, why)};
  }
  const Client::Visit visit(*client->rep);
  Event event = client->rep->call([&](Engine& engine, std::int64_t tag, Micros now) {
    return engine.acquire(tag, request.value, wait.value, now);
  });
  const std::int64_t gained = event.generation != 0 ? event.generation : event.hold;
  const std::int32_t code = answer(std::move(event), why);
  return code == BELAY_OK ? gained : -std::int64_t{code};
}

belay::Result<Engine::HoldView> look(belay_client* client, std::int64_t hold) {
  if (Status status = usable(client); !status.ok()) {
    return status;
  }
  const Client::Visit visit(*client->rep);
  const Engine::HoldView view = client->rep->look(hold);
  if (view.state == 0) {
    return Status(BELAY_UNKNOWN_HOLD,
                  "hold " + std::to_string(hold) + " was never granted, or has been released");
  }
  return view;
}

Client::Submission release_of(std::int64_t hold) {
  return [hold](Engine& engine, std::int64_t tag, Micros now) {
    return engine.release(tag, hold, now);
  };
}

Client::Submission extension_of(std::int64_t hold, std::int64_t lease_ms) {
  return [=](Engine& engine, std::int64_t tag, Micros now) {
    return engine.extend(tag, hold, lease_ms * belay::kMillisecond, now);
  };
}

Client::Submission downgrade_of(std::int64_t hold) {
  return [hold](Engine& engine, std::int64_t tag, Micros now) {
    return engine.downgrade(tag, hold, belay::kReaders, now);
  };
}

Client::Submission verification_of(std::int64_t hold) {
  return [hold](Engine& engine, std::int64_t tag, Micros now) {
    return engine.verify(tag, hold, now);
  };
}

// These read the client when they are called: it has been checked by then.
Client::Submission inspection_of(belay_client* client, std::string_view name) {
  return [=](Engine& engine, std::int64_t tag, Micros now) {
    return engine.query(tag, belay::inspect_query(client->rep->names(), name), now);
  };
}

Client::Submission break_of(belay_client* client, std::string_view name, std::int64_t fence) {
  return [=](Engine& engine, std::int64_t tag, Micros now) {
    return engine.query(tag, belay::break_query(client->rep->names(), name, fence), now);
  };
}

Client::Submission listing_of(belay_client* client, const char* pattern, std::int64_t limit) {
  return [=](Engine& engine, std::int64_t tag, Micros now) {
    return engine.query(tag, belay::list_query(client->rep->names(), pattern, limit), now);
  };
}

Client::Submission write_of(belay_client* client, const belay::FencedWrite& write) {
  return [=](Engine& engine, std::int64_t tag, Micros now) {
    return engine.query(tag, belay::fenced_write_query(client->rep->config().prefix, write), now);
  };
}

Client::Submission limit_of(belay_client* client, std::string_view name, std::int64_t limit) {
  return [=](Engine& engine, std::int64_t tag, Micros now) {
    return engine.query(tag, belay::limit_query(client->rep->semaphore(), name, limit), now);
  };
}

Client::Submission available_of(belay_client* client, std::string_view name) {
  return [=](Engine& engine, std::int64_t tag, Micros now) {
    return engine.query(tag, belay::available_query(client->rep->semaphore(), name), now);
  };
}

Client::Submission latch_setting_of(belay_client* client, std::string_view name, std::int64_t count,
                                    std::int64_t ttl_ms) {
  return [=](Engine& engine, std::int64_t tag, Micros now) {
    Client& rep = *client->rep;
    return engine.query(tag,
                        belay::latch_set_query(rep.latch(), name, rep.next_request(), count,
                                               ttl_ms * belay::kMillisecond),
                        now);
  };
}

Client::Submission count_down_of(belay_client* client, std::string_view name, std::int64_t by) {
  return [=](Engine& engine, std::int64_t tag, Micros now) {
    Client& rep = *client->rep;
    return engine.query(
        tag, belay::latch_count_down_query(rep.latch(), name, rep.next_request(), by), now);
  };
}

Client::Submission count_of(belay_client* client, std::string_view name) {
  return [=](Engine& engine, std::int64_t tag, Micros now) {
    return engine.query(tag, belay::latch_count_query(client->rep->latch(), name), now);
  };
}

Status ping_of(Engine& engine, std::int64_t tag, Micros now) {
  return engine.query(tag, belay::ping_query(), now);
}

Status checked_break(const belay::Result<std::string_view>& name, std::int64_t fence) {
  return name.ok() ? belay::checked_range("fence", fence, 0, belay::kMaxId) : name.status;
}

Status checked_listing(const char* pattern, std::int64_t limit) {
  if (pattern == nullptr) {
    return Status(BELAY_INVALID_ARGUMENT, "the pattern was NULL");
  }
  return belay::checked_range("limit", limit, 1, 1'000'000);
}

Status checked_limit(const belay::Result<std::string_view>& name, std::int64_t limit) {
  return name.ok() ? belay::checked_range("limit", limit, 1, belay::kMostPermits) : name.status;
}

Status checked_latch(const belay::Result<std::string_view>& name, const char* what,
                     std::int64_t count) {
  return name.ok() ? belay::checked_range(what, count, 1, kMostCount) : name.status;
}

Status checked_latch_setting(const belay::Result<std::string_view>& name, std::int64_t count,
                             std::int64_t ttl_ms) {
  Status status = checked_latch(name, "count", count);
  return status.ok() && ttl_ms != 0 ? belay::checked_range("ttl_ms", ttl_ms, 100, belay::kMonthMs)
                                    : status;
}

belay::Result<belay::FencedWrite> checked_write(std::string_view key, std::int64_t fence,
                                                std::int32_t argc, const char* const* argv,
                                                const std::int64_t* sizes) {
  belay::FencedWrite write;
  write.key = key;
  write.fence = fence;
  Status status = belay::checked_range("fence", fence, 1, belay::kMaxFence);
  if (status.ok()) {
    status = belay::checked_range("argc", argc, 1, kMostWords);
  }
  if (status.ok() && argv == nullptr) {
    status = Status(BELAY_INVALID_ARGUMENT, "argv was NULL");
  }
  for (std::int32_t i = 0; i < argc && status.ok(); ++i) {
    const belay::Result<std::string_view> word = belay::checked_bytes(
        "argv[" + std::to_string(i) + "]", argv[i], sizes == nullptr ? -1 : sizes[i]);
    status = word.status;
    write.command.emplace_back(word.value);
  }
  return status.ok() ? belay::Result(std::move(write)) : belay::Result<belay::FencedWrite>(status);
}

belay::Result<belay::FencedWrite> checked_write(const char* key, std::int64_t key_size,
                                                std::int64_t fence, std::int32_t argc,
                                                const char* const* argv,
                                                const std::int64_t* sizes) {
  const belay::Result<std::string_view> checked = belay::checked_name(key, key_size, "the key");
  if (!checked.ok()) {
    return checked.status;
  }
  return checked_write(checked.value, fence, argc, argv, sizes);
}

}  // namespace

const char* belay_last_error() {
  return last_error.c_str();
}

belay_client* belay_client_new(belay_options* options) {
  if (options == nullptr || !options->error.ok()) {
    return nullptr;
  }
  belay::Config config = options->config;
  config.server.user = options->user.value_or(config.server.user);
  if (options->password) {
    config.server.password = *options->password;
  }
  belay::Result<std::unique_ptr<Client>> client = Client::create(std::move(config));
  options->used = true;
  if (!client.ok()) {
    options->error = std::move(client.status);
    return nullptr;
  }
  if (!options->warning.empty()) {
    client.value->log(BELAY_LOG_WARNING, options->warning);
  }
  return new belay_client{std::move(client.value)};
}

void belay_client_free(belay_client* client) {
  if (client != nullptr && client->rep->forked()) {
    Client::forget(std::move(client->rep));
  }
  delete client;
}

int32_t belay_client_shutdown(belay_client* client) {
  if (Status status = usable(client); !status.ok()) {
    return noted(status);
  }
  const Client::Visit visit(*client->rep);
  return noted(client->rep->shutdown());
}

int32_t belay_client_fd(belay_client* client) {
  return noted(usable(client)) == BELAY_OK ? client->rep->fd() : -1;
}

int32_t belay_client_ping(belay_client* client, belay_event** why) {
  return call(client, Status(), why, ping_of);
}

int64_t belay_lock(belay_client* client, const char* name, int64_t name_size, int64_t wait_ms,
                   belay_event** why) {
  if (Status status = usable(client); !status.ok()) {
    return -std::int64_t{refuse(std::move(status), why)};
  }
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  if (!checked.ok()) {
    return -std::int64_t{refuse(checked.status, why)};
  }
  belay::AcquireRequest request;
  request.primitive = &client->rep->primitive(belay::Kind::kLock);
  request.name = checked.value;
  request.max_hold = client->rep->config().max_hold;
  return acquire(client, request, wait_ms, why);
}

int64_t belay_acquire(belay_client* client, belay_request* request, int64_t wait_ms,
                      belay_event** why) {
  if (Status status = usable(client); !status.ok()) {
    return -std::int64_t{refuse(std::move(status), why)};
  }
  return acquire(client, checked_request(client, request, wait_ms), wait_ms, why);
}

int32_t belay_release(belay_client* client, int64_t hold) {
  return belay_release_why(client, hold, nullptr);
}

int32_t belay_release_why(belay_client* client, int64_t hold, belay_event** why) {
  return call(client, Status(), why, release_of(hold));
}

int32_t belay_extend(belay_client* client, int64_t hold, int64_t lease_ms, belay_event** why) {
  return call(client, belay::checked_lease(lease_ms), why, extension_of(hold, lease_ms));
}

int32_t belay_downgrade(belay_client* client, int64_t hold, belay_event** why) {
  return call(client, Status(), why, downgrade_of(hold));
}

int32_t belay_verify(belay_client* client, int64_t hold, belay_event** why) {
  return call(client, Status(), why, verification_of(hold));
}

int32_t belay_inspect(belay_client* client, const char* name, int64_t name_size,
                      belay_event** result) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  return call(client, checked.status, result, inspection_of(client, checked.value));
}

int32_t belay_break(belay_client* client, const char* name, int64_t name_size, int64_t fence,
                    belay_event** result) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  return call(client, checked_break(checked, fence), result,
              break_of(client, checked.value, fence));
}

int32_t belay_list(belay_client* client, const char* pattern, int64_t limit, belay_event** result) {
  return call(client, checked_listing(pattern, limit), result, listing_of(client, pattern, limit));
}

int32_t belay_fenced_write(belay_client* client, const char* key, int64_t key_size, int64_t fence,
                           int32_t argc, const char* const* argv, const int64_t* sizes,
                           belay_event** result) {
  const belay::Result<belay::FencedWrite> checked =
      checked_write(key, key_size, fence, argc, argv, sizes);
  return call(client, checked.status, result, write_of(client, checked.value));
}

int32_t belay_semaphore_set_limit(belay_client* client, const char* name, int64_t name_size,
                                  int64_t limit, belay_event** why) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  return call(client, checked_limit(checked, limit), why, limit_of(client, checked.value, limit));
}

int64_t belay_semaphore_available(belay_client* client, const char* name, int64_t name_size,
                                  belay_event** why) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  return call_for(&Event::available, client, checked.status, why,
                  available_of(client, checked.value));
}

int64_t belay_latch_set(belay_client* client, const char* name, int64_t name_size, int64_t count,
                        int64_t ttl_ms, belay_event** why) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  return call_for(&Event::generation, client, checked_latch_setting(checked, count, ttl_ms), why,
                  latch_setting_of(client, checked.value, count, ttl_ms));
}

int64_t belay_latch_count_down(belay_client* client, const char* name, int64_t name_size, int64_t n,
                               belay_event** why) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  return call_for(&Event::count, client, checked_latch(checked, "n", n), why,
                  count_down_of(client, checked.value, n));
}

int64_t belay_latch_count(belay_client* client, const char* name, int64_t name_size,
                          belay_event** why) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  return call_for(&Event::count, client, checked.status, why, count_of(client, checked.value));
}

int32_t belay_submit_acquire(belay_client* client, int64_t tag, belay_request* request,
                             int64_t wait_ms) {
  if (Status status = usable(client); !status.ok()) {
    return noted(status);
  }
  belay::Result<belay::AcquireRequest> checked = checked_request(client, request, wait_ms);
  const belay::Result<Micros> wait = belay::checked_wait("wait_ms", wait_ms);
  checked.value.notify = true;
  return submit(client, tag, checked.ok() ? wait.status : checked.status,
                [&](Engine& engine, std::int64_t chosen, Micros now) {
                  return engine.acquire(chosen, checked.value, wait.value, now);
                });
}

int32_t belay_submit_release(belay_client* client, int64_t tag, int64_t hold) {
  return submit(client, tag, Status(), release_of(hold));
}

int32_t belay_submit_extend(belay_client* client, int64_t tag, int64_t hold, int64_t lease_ms) {
  return submit(client, tag, belay::checked_lease(lease_ms), extension_of(hold, lease_ms));
}

int32_t belay_submit_downgrade(belay_client* client, int64_t tag, int64_t hold) {
  return submit(client, tag, Status(), downgrade_of(hold));
}

int32_t belay_submit_verify(belay_client* client, int64_t tag, int64_t hold) {
  return submit(client, tag, Status(), verification_of(hold));
}

int32_t belay_submit_inspect(belay_client* client, int64_t tag, const char* name,
                             int64_t name_size) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  return submit(client, tag, checked.status, inspection_of(client, checked.value));
}

int32_t belay_submit_break(belay_client* client, int64_t tag, const char* name, int64_t name_size,
                           int64_t fence) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  return submit(client, tag, checked_break(checked, fence), break_of(client, checked.value, fence));
}

int32_t belay_submit_list(belay_client* client, int64_t tag, const char* pattern, int64_t limit) {
  return submit(client, tag, checked_listing(pattern, limit), listing_of(client, pattern, limit));
}

int32_t belay_submit_fenced_write(belay_client* client, int64_t tag, const char* key,
                                  int64_t key_size, int64_t fence, int32_t argc,
                                  const char* const* argv, const int64_t* sizes) {
  const belay::Result<belay::FencedWrite> checked =
      checked_write(key, key_size, fence, argc, argv, sizes);
  return submit(client, tag, checked.status, write_of(client, checked.value));
}

int32_t belay_submit_semaphore_set_limit(belay_client* client, int64_t tag, const char* name,
                                         int64_t name_size, int64_t limit) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  return submit(client, tag, checked_limit(checked, limit), limit_of(client, checked.value, limit));
}

int32_t belay_submit_semaphore_available(belay_client* client, int64_t tag, const char* name,
                                         int64_t name_size) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  return submit(client, tag, checked.status, available_of(client, checked.value));
}

int32_t belay_submit_latch_set(belay_client* client, int64_t tag, const char* name,
                               int64_t name_size, int64_t count, int64_t ttl_ms) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  return submit(client, tag, checked_latch_setting(checked, count, ttl_ms),
                latch_setting_of(client, checked.value, count, ttl_ms));
}

int32_t belay_submit_latch_count_down(belay_client* client, int64_t tag, const char* name,
                                      int64_t name_size, int64_t n) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  return submit(client, tag, checked_latch(checked, "n", n),
                count_down_of(client, checked.value, n));
}

int32_t belay_submit_latch_count(belay_client* client, int64_t tag, const char* name,
                                 int64_t name_size) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  return submit(client, tag, checked.status, count_of(client, checked.value));
}

int32_t belay_submit_ping(belay_client* client, int64_t tag) {
  return submit(client, tag, Status(), ping_of);
}

int32_t belay_cancel(belay_client* client, int64_t tag) {
  return submit(client, tag, Status(), [](Engine& engine, std::int64_t chosen, Micros now) {
    return engine.cancel(chosen, now);
  });
}

belay_event* belay_next(belay_client* client, int64_t timeout_ms) {
  Status status = usable(client);
  if (status.ok()) {
    status = belay::checked_wait("timeout_ms", timeout_ms).status;
  }
  if (noted(status) != BELAY_OK) {
    return nullptr;
  }
  const Client::Visit visit(*client->rep);
  std::unique_ptr<Event> event = client->rep->next(timeout_ms);
  return event == nullptr ? nullptr : new belay_event{std::move(*event)};
}

int32_t belay_hold_state(belay_client* client, int64_t hold) {
  const belay::Result<Engine::HoldView> view = look(client, hold);
  return view.ok() ? view.value.state : -noted(view.status);
}

int64_t belay_hold_remaining_ms(belay_client* client, int64_t hold) {
  const belay::Result<Engine::HoldView> view = look(client, hold);
  return view.ok() ? belay::to_ms(view.value.remaining) : -noted(view.status);
}

int64_t belay_hold_fence(belay_client* client, int64_t hold, int32_t index) {
  const belay::Result<Engine::HoldView> view = look(client, hold);
  if (!view.ok()) {
    return -noted(view.status);
  }
  const auto& fences = view.value.fences;
  const std::int64_t last = fences.empty() ? 0 : static_cast<std::int64_t>(fences.size()) - 1;
  const Status status = belay::checked_range("index", index, 0, last);
  if (!status.ok()) {
    return -noted(status);
  }
  return fences.empty() ? view.value.fence : fences[static_cast<std::size_t>(index)];
}

int32_t belay_hold_abandon(belay_client* client, int64_t hold) {
  return submit(client, 1, Status(), [hold](Engine& engine, std::int64_t, Micros now) {
    return engine.abandon(hold, now);
  });
}
