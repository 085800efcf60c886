// Statuses of the C API, and the checks that its functions share.
#include <algorithm>
#include <array>
#include <cstring>

#include "api/handles.h"

namespace {

struct Named {
  std::int32_t status;
  const char* name;
  std::int32_t status_class;
};

constexpr std::array<Named, 25> kStatuses{{
    {BELAY_OK, "OK", BELAY_CLASS_OK},
    {BELAY_BUSY, "BUSY", BELAY_CLASS_RETRY},
    {BELAY_TIMEOUT, "TIMEOUT", BELAY_CLASS_RETRY},
    {BELAY_UNAVAILABLE, "UNAVAILABLE", BELAY_CLASS_RETRY},
    {BELAY_TOO_MANY_PENDING, "TOO_MANY_PENDING", BELAY_CLASS_RETRY},
    {BELAY_AUTH_FAILED, "AUTH_FAILED", BELAY_CLASS_REFUSED},
    {BELAY_NOT_PERMITTED, "NOT_PERMITTED", BELAY_CLASS_REFUSED},
    {BELAY_WRONG_TYPE, "WRONG_TYPE", BELAY_CLASS_REFUSED},
    {BELAY_UNSUPPORTED_SERVER, "UNSUPPORTED_SERVER", BELAY_CLASS_REFUSED},
    {BELAY_SERVER_ERROR, "SERVER_ERROR", BELAY_CLASS_REFUSED},
    {BELAY_NOT_FOUND, "NOT_FOUND", BELAY_CLASS_REFUSED},
    {BELAY_LIMIT_DIFFERS, "LIMIT_DIFFERS", BELAY_CLASS_REFUSED},
    {BELAY_IN_USE, "IN_USE", BELAY_CLASS_REFUSED},
    {BELAY_INVALID_ARGUMENT, "INVALID_ARGUMENT", BELAY_CLASS_MISUSE},
    {BELAY_UNSUPPORTED_URL, "UNSUPPORTED_URL", BELAY_CLASS_MISUSE},
    {BELAY_TAG_IN_USE, "TAG_IN_USE", BELAY_CLASS_MISUSE},
    {BELAY_UNKNOWN_TAG, "UNKNOWN_TAG", BELAY_CLASS_MISUSE},
    {BELAY_UNKNOWN_HOLD, "UNKNOWN_HOLD", BELAY_CLASS_MISUSE},
    {BELAY_ALREADY_USED, "ALREADY_USED", BELAY_CLASS_MISUSE},
    {BELAY_WOULD_DEADLOCK, "WOULD_DEADLOCK", BELAY_CLASS_MISUSE},
    {BELAY_LOST, "LOST", BELAY_CLASS_GONE},
    {BELAY_CANCELLED, "CANCELLED", BELAY_CLASS_GONE},
    {BELAY_CLOSED, "CLOSED", BELAY_CLASS_GONE},
    {BELAY_FORKED, "FORKED", BELAY_CLASS_GONE},
    {BELAY_STALE_FENCE, "STALE_FENCE", BELAY_CLASS_GONE},
}};

// Also by minus the status, as calls return it.
const Named* find(std::int64_t status) {
  for (const Named& named : kStatuses) {
    if (named.status == status || -std::int64_t{named.status} == status) {
      return &named;
    }
  }
  return nullptr;
}

}  // namespace

int32_t belay_status_class(int64_t status) {
  const Named* named = find(status);
  return named == nullptr ? BELAY_CLASS_REFUSED : named->status_class;
}

const char* belay_status_name(int64_t status) {
  const Named* named = find(status);
  return named == nullptr ? "UNKNOWN" : named->name;
}

const char* belay_version(void) {
  return BELAY_VERSION;
}

int32_t belay_abi(void) {
  return BELAY_ABI;
}

namespace belay {

Result<std::string_view> checked_bytes(const std::string& what, const char* bytes,
                                       std::int64_t size, std::size_t low, std::size_t high) {
  if (bytes == nullptr) {
    return Status(BELAY_INVALID_ARGUMENT, what + " was NULL");
  }
  if (size < -1) {
    return Status(BELAY_INVALID_ARGUMENT,
                  what + "'s size was " + std::to_string(size) + ": a size or -1 is allowed");
  }
  const std::size_t length = size == -1 ? std::strlen(bytes) : static_cast<std::size_t>(size);
  if (length < low || length > high) {
    return Status(BELAY_INVALID_ARGUMENT, what + " had " + std::to_string(length) +
                                              " bytes: " + std::to_string(low) + ".." +
                                              std::to_string(high) + " are allowed");
  }
  return std::string_view(bytes, length);
}

Result<std::string_view> checked_word(const std::string& what, const char* word,
                                      std::int64_t size) {
  return checked_bytes(what, word, size, 0, kMaxWordSize);
}

Result<std::string_view> checked_name(const char* name, std::int64_t size, const char* what,
                                      std::size_t most) {
  return checked_bytes(what, name, size, 1, most);
}

Status checked_range(const char* what, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) {
    return {};
  }
  return {BELAY_INVALID_ARGUMENT, std::string(what) + " was " + std::to_string(value) + ": " +
                                      std::to_string(low) + ".." + std::to_string(high) +
                                      " is allowed"};
}

Result<Micros> checked_wait(const char* what, std::int64_t wait_ms) {
  if (wait_ms < -1) {
    return Status(BELAY_INVALID_ARGUMENT, std::string(what) + " was " + std::to_string(wait_ms) +
                                              ": a duration, or -1 for no limit, is allowed");
  }
  // Longer than anybody waits, but with an end: without one a wait goes on through outages.
  const std::int64_t longest = kNever / kMillisecond / 4;
  return wait_ms == -1 ? kNever : std::min(wait_ms, longest) * kMillisecond;
}

Status checked_lease(std::int64_t lease_ms) {
  return checked_range("lease_ms", lease_ms, kMinLease / kMillisecond, kMaxLease / kMillisecond);
}

}  // namespace belay
