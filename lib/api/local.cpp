// A client's life and its holds in the C API: what is answered without the server.
#include "api/calls.h"
#include "client/metric_members.h"

namespace {

using belay::Client;
using belay::Engine;
using belay::Status;

belay::Result<Engine::HoldView> look(belay_client* client, std::int64_t hold) {
  if (Status status = belay::usable(client); !status.ok()) {
    return status;
  }
  const belay::Visit visit(client->rep->visits());
  const Engine::HoldView view = client->rep->look(hold);
  if (view.state == 0) {
    return Status(BELAY_UNKNOWN_HOLD);
  }
  return view;
}

// An owner's holds of a lock.
belay::Result<std::vector<std::int64_t>> holds_of(belay_client* client, std::int64_t owner,
                                                  const char* name, std::int64_t name_size) {
  const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
  Status status = belay::usable(client);
  if (status.ok()) {
    status = checked.ok() ? belay::checked_range("owner", owner, 0, belay::kMaxId) : checked.status;
  }
  if (!status.ok()) {
    return status;
  }
  const belay::Visit visit(client->rep->visits());
  return client->rep->holds_of(owner, std::string(checked.value));
}

// What ends a hold without an event.
std::int32_t end_hold(belay_client* client, std::int64_t hold,
                      Status (Engine::*how)(std::int64_t, belay::Micros)) {
  if (const Status status = belay::usable(client); !status.ok()) {
    return status.code;
  }
  const belay::Visit visit(client->rep->visits());
  return client->rep
      ->tell([hold, how](Engine& engine, std::int64_t, belay::Micros now) {
        return (engine.*how)(hold, now);
      })
      .code;
}

std::int64_t minus(const Status& status) {
  return -std::int64_t{status.code};
}

belay::Topology topology_of(const belay_options& options) {
  return options.of_cluster       ? belay::on_a_cluster(options.endpoints)
         : options.master.empty() ? belay::on_one_server(options.endpoints)
                                  : belay::on_sentinels(options.endpoints, options.master);
}

}  // namespace

belay_client* belay_client_new(belay_options* options) {
  if (options == nullptr || !options->trouble().ok()) {
    return nullptr;
  }
  belay::Config config = options->config;
  config.credentials.user = options->user.value_or(config.credentials.user);
  if (options->password) {
    config.credentials.password = *options->password;
  }
  belay::Result<std::unique_ptr<Client>> client =
      Client::create(std::move(config), topology_of(*options), options->password_origin);
  options->used = true;
  if (!client.ok()) {
    options->error = std::move(client.status);
    return nullptr;
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
  if (const Status status = belay::usable(client); !status.ok()) {
    return status.code;
  }
  const belay::Visit visit(client->rep->visits());
  return client->rep->shutdown().code;
}

int64_t belay_client_fd(belay_client* client) {
  if (const Status status = belay::usable(client); !status.ok()) {
    return minus(status);
  }
  const int fd = client->rep->fd();
  return fd < 0 ? -BELAY_UNAVAILABLE : fd;
}

int32_t belay_client_set_wakeup(belay_client* client, int32_t fd) {
  if (const Status status = belay::usable(client); !status.ok()) {
    return status.code;
  }
  const belay::Visit visit(client->rep->visits());
  return client->rep->set_wakeup(fd) ? BELAY_OK : BELAY_INVALID_ARGUMENT;
}

const char* belay_client_id(const belay_client* client) {
  return client == nullptr ? "" : client->rep->dialect().me.client.c_str();
}

int32_t belay_client_metrics(belay_client* client, belay_event** event) {
  belay::Event metrics = belay::ended(BELAY_EVENT_METRICS, 0, belay::usable(client));
  const std::int32_t code = metrics.status.code;
  if (metrics.status.ok()) {
    const belay::Visit visit(client->rep->visits());
    metrics.members = client->rep->metrics();
    belay::add_metric("process_clients", belay::Live<belay_client>::count(), &metrics.members);
    belay::add_metric("process_requests", belay::Live<belay_request>::count(), &metrics.members);
    belay::add_metric("process_events", belay::Live<belay_event>::count(), &metrics.members);
    metrics.member_total = static_cast<std::int64_t>(metrics.members.size());
  }
  if (event != nullptr) {
    *event = new belay_event{std::move(metrics)};
  }
  return code;
}

int64_t belay_hold_state(belay_client* client, int64_t hold) {
  const belay::Result<Engine::HoldView> view = look(client, hold);
  return view.ok() ? view.value.state : minus(view.status);
}

int64_t belay_hold_remaining_ms(belay_client* client, int64_t hold) {
  const belay::Result<Engine::HoldView> view = look(client, hold);
  return view.ok() ? belay::to_ms(view.value.remaining) : minus(view.status);
}

int64_t belay_hold_fence(belay_client* client, int64_t hold, int32_t index) {
  const belay::Result<Engine::HoldView> view = look(client, hold);
  if (!view.ok()) {
    return minus(view.status);
  }
  const auto& fences = view.value.fences;
  if (index == 0 && fences.empty()) {
    return view.value.fence;
  }
  const bool listed = index >= 0 && static_cast<std::size_t>(index) < fences.size();
  return listed ? fences[static_cast<std::size_t>(index)] : -BELAY_INVALID_ARGUMENT;
}

int32_t belay_release_nowait(belay_client* client, int64_t hold) {
  return end_hold(client, hold, &Engine::release_nowait);
}

int32_t belay_hold_abandon(belay_client* client, int64_t hold) {
  return end_hold(client, hold, &Engine::abandon);
}

int64_t belay_owner_holds(belay_client* client, int64_t owner, const char* name,
                          int64_t name_size) {
  const auto holds = holds_of(client, owner, name, name_size);
  return holds.ok() ? static_cast<std::int64_t>(holds.value.size()) : minus(holds.status);
}

int64_t belay_owner_hold(belay_client* client, int64_t owner, const char* name, int64_t name_size,
                         int64_t index) {
  const auto holds = holds_of(client, owner, name, name_size);
  if (!holds.ok()) {
    return minus(holds.status);
  }
  const bool listed = index >= 0 && static_cast<std::size_t>(index) < holds.value.size();
  return listed ? holds.value[static_cast<std::size_t>(index)] : -BELAY_UNKNOWN_HOLD;
}
