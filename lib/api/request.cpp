// Requests of the C API: each setter checks, keeps the first error, and touches one field.
#include <algorithm>
#include <string>

#include "api/handles.h"

namespace {

using belay::Status;

constexpr std::size_t kMaxIdentity = 256;
constexpr std::size_t kMostNames = belay::contract::kMostNames;
constexpr std::int64_t kMaxLockDelayMs = belay::kMaxLockDelay / 1000;

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

// Whether `what` may be set for this kind of request.
Status fits(const belay_request& request, belay::Kind kind, const char* what) {
  return request.kind == kind ? Status()
                              : Status(BELAY_INVALID_ARGUMENT,
                                       std::string(what) + " is not for this kind of request");
}

// Sets a number that is about holds.
std::int32_t set_of_hold(belay_request* request, const char* what, std::int64_t value,
                         std::int64_t low, std::int64_t high, std::int64_t* field) {
  if (request != nullptr && request->kind == belay::Kind::kLatch && value != 0) {
    return set(request, what, [&] { return fits(*request, belay::Kind::kLock, what); });
  }
  return set_number(request, what, value, low, high, 1000, field);
}

std::int32_t set_flag(belay_request* request, const char* what, std::int32_t value, bool* field) {
  return set(request, what, [&] {
    Status status = belay::checked_range(what, value, 0, 1);
    if (status.ok()) {
      *field = value != 0;
    }
    return status;
  });
}

std::int32_t add_name(belay_request* request, const char* name, std::int64_t name_size,
                      const std::string& group) {
  return set(request, "a name", [&] {
    const belay::Result<std::string_view> checked = belay::checked_name(name, name_size);
    if (!checked.ok()) {
      return checked.status;
    }
    auto& names = request->request.names;
    const std::string text(checked.value);
    if (Status status =
            fits(*request, belay::Kind::kLock, group.empty() ? "a second name" : "a shared name");
        (!group.empty() || !names.empty()) && !status.ok()) {
      return status;
    }
    if (std::any_of(names.begin(), names.end(),
                    [&text](const auto& other) { return other.first == text; })) {
      return Status(BELAY_INVALID_ARGUMENT, "the name '" + text + "' was added twice");
    }
    if (names.size() == kMostNames) {
      return Status(BELAY_INVALID_ARGUMENT, "there were " + std::to_string(kMostNames) +
                                                " names before '" + text + "', the most allowed");
    }
    belay::Want want;
    want.group = group;
    names.emplace_back(text, want);
    return Status();
  });
}

}  // namespace

belay_request* belay_request_new(int32_t primitive) {
  if (primitive < BELAY_LOCK || primitive > BELAY_LATCH) {
    return nullptr;
  }
  auto* request = new belay_request;
  request->kind = static_cast<belay::Kind>(primitive);
  return request;
}

void belay_request_free(belay_request* request) {
  delete request;
}

const char* belay_request_error(const belay_request* request) {
  return request == nullptr ? "the request was NULL" : request->error.message.c_str();
}

int32_t belay_request_add_name(belay_request* request, const char* name, int64_t name_size) {
  return add_name(request, name, name_size, std::string());
}

int32_t belay_request_add_shared_name(belay_request* request, const char* name, int64_t name_size) {
  return add_name(request, name, name_size, belay::kReaders);
}

int32_t belay_request_set_identity(belay_request* request, const char* identity,
                                   int64_t identity_size) {
  return set(request, "the identity", [&] {
    const belay::Result<std::string_view> checked =
        belay::checked_name(identity, identity_size, "the identity", kMaxIdentity);
    if (Status status = fits(*request, belay::Kind::kLock, "an identity");
        !status.ok() || !checked.ok()) {
      return status.ok() ? checked.status : status;
    }
    request->identity = checked.value;
    return Status();
  });
}

int32_t belay_request_set_permits(belay_request* request, int64_t permits, int64_t limit) {
  return set(request, "permits", [&] {
    Status status = fits(*request, belay::Kind::kSemaphore, "permits");
    if (status.ok()) {
      status = belay::checked_range("limit", limit, 0, belay::kMostPermits);
    }
    if (status.ok()) {
      status =
          belay::checked_range("permits", permits, 0, limit == 0 ? belay::kMostPermits : limit);
    }
    if (status.ok()) {
      request->request.want.permits = permits;
      request->request.want.limit = limit;
    }
    return status;
  });
}

int32_t belay_request_set_generation(belay_request* request, int64_t generation) {
  return set(request, "the generation", [&] {
    Status status = fits(*request, belay::Kind::kLatch, "a generation");
    if (status.ok()) {
      status = belay::checked_range("generation", generation, 0, belay::kMaxFence);
    }
    if (status.ok()) {
      request->request.want.generation = generation;
    }
    return status;
  });
}

int32_t belay_request_set_lock_delay_ms(belay_request* request, int64_t delay_ms) {
  return set_of_hold(request, "lock_delay_ms", delay_ms, 0, kMaxLockDelayMs,
                     request == nullptr ? nullptr : &request->request.want.lock_delay);
}

int32_t belay_request_set_lease_ms(belay_request* request, int64_t lease_ms) {
  return set_of_hold(request, "lease_ms", lease_ms, lease_ms == 0 ? 0 : belay::kMinLease / 1000,
                     belay::kMaxLease / 1000,
                     request == nullptr ? nullptr : &request->request.lease);
}

int32_t belay_request_set_max_hold_ms(belay_request* request, int64_t max_hold_ms) {
  const std::int32_t status =
      set_of_hold(request, "max_hold_ms", max_hold_ms, max_hold_ms == 0 ? 0 : 100, belay::kMonthMs,
                  request == nullptr ? nullptr : &request->request.max_hold);
  if (status == BELAY_OK) {
    request->has_max_hold = true;
  }
  return status;
}

int32_t belay_request_set_notify(belay_request* request, int32_t notify) {
  return set_flag(request, "notify", notify,
                  request == nullptr ? nullptr : &request->request.notify);
}

int32_t belay_request_set_confirmed(belay_request* request, int32_t confirmed) {
  return set_flag(request, "confirmed", confirmed,
                  request == nullptr ? nullptr : &request->request.confirmed);
}
