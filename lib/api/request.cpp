// Requests of the C API: each setter checks, keeps the first error, and touches one field.
#include <string>

#include "api/handles.h"

namespace {

using belay::Status;

constexpr std::int64_t kMonth = std::int64_t{30} * 24 * 3600 * 1000;

template <typename Work>
std::int32_t set(belay_request* request, const char* what, Work work) {
  if (request == nullptr) {
    return BELAY_INVALID_ARGUMENT;
  }
  Status status = request->used
                      ? Status(BELAY_ALREADY_USED,
                               std::string(what) + " was set after the request had been used")
                      : work();
  const std::int32_t code = status.code;
  if (!status.ok() && request->error.ok()) {
    request->error = std::move(status);
  }
  return code;
}

std::int32_t set_number(belay_request* request, const char* what, std::int64_t value,
                        std::int64_t low, std::int64_t high, std::int64_t unit,
                        std::int64_t* field) {
  return set(request, what, [&] {
    Status status = belay::checked_range(what, value, low, high);
    if (status.ok()) {
      *field = value * unit;
    }
    return status;
  });
}

}  // namespace

belay_request* belay_request_new(int32_t primitive) {
  return primitive == BELAY_LOCK ? new belay_request : nullptr;
}

void belay_request_free(belay_request* request) {
  delete request;
}

const char* belay_request_error(const belay_request* request) {
  return request == nullptr ? "the request was NULL" : request->error.message.c_str();
}

int32_t belay_request_add_name(belay_request* request, const char* name, int64_t name_size) {
  return set(request, "a name", [&] {
    belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
    if (checked.ok() && !request->request.name.empty()) {
      return Status(
          BELAY_INVALID_ARGUMENT,
          "a second name was added, '" + std::string(checked.value) + "': one is allowed for now");
    }
    if (checked.ok()) {
      request->request.name = checked.value;
    }
    return checked.status;
  });
}

int32_t belay_request_set_lease_ms(belay_request* request, int64_t lease_ms) {
  return set_number(request, "lease_ms", lease_ms, lease_ms == 0 ? 0 : belay::kMinLease / 1000,
                    belay::kMaxLease / 1000, 1000,
                    request == nullptr ? nullptr : &request->request.lease);
}

int32_t belay_request_set_owner(belay_request* request, int64_t owner) {
  return set_number(request, "owner", owner, 0, belay::kMaxId, 1,
                    request == nullptr ? nullptr : &request->request.owner);
}

int32_t belay_request_set_max_hold_ms(belay_request* request, int64_t max_hold_ms) {
  const std::int32_t status =
      set_number(request, "max_hold_ms", max_hold_ms, max_hold_ms == 0 ? 0 : 100, kMonth, 1000,
                 request == nullptr ? nullptr : &request->request.max_hold);
  if (status == BELAY_OK) {
    request->has_max_hold = true;
  }
  return status;
}

int32_t belay_request_set_notify(belay_request* request, int32_t notify) {
  return set(request, "notify", [&] {
    Status status = belay::checked_range("notify", notify, 0, 1);
    if (status.ok()) {
      request->request.notify = notify != 0;
    }
    return status;
  });
}
