#include "target.h"

#include <array>
#include <atomic>
#include <cstdio>

#include "server.h"

namespace belay::bench {

namespace {

std::atomic<std::int64_t> lost_holds{0};

void note_released(std::int32_t status, const char* what) {
  if (status == BELAY_LOST) {
    lost_holds.fetch_add(1);
  } else {
    expect_ok(status, what);
  }
}

}  // namespace

void expect_ok(std::int32_t status, const char* what) {
  if (status != BELAY_OK) {
    give_up(std::string(what) + " answered " + belay_status_name(status));
  }
}

std::string name_of(const char* prefix, std::int64_t number) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "%s:%lld", prefix, static_cast<long long>(number));
  return name.data();
}

Target::Target(const std::string& url) {
  belay_options* options = belay_options_new();
  expect_ok(belay_options_set_url(options, url.c_str()), "belay_options_set_url");
  client_ = belay_client_new(options);
  belay_options_free(options);
  if (client_ == nullptr) {
    give_up("belay_client_new failed");
  }
  expect_ok(belay_client_ping(client_, nullptr), "belay_client_ping");
}

Target::~Target() {
  belay_client_free(client_);
}

std::int64_t Target::lock(const char* name) {
  const std::int64_t hold = belay_lock(client_, name, -1, -1, nullptr);
  if (hold <= 0) {
    expect_ok(static_cast<std::int32_t>(-hold), "belay_lock");
  }
  return hold;
}

std::int64_t Target::acquire(Request& request) {
  const std::int64_t hold = belay_acquire(client_, request.get(), request.owner(), -1, nullptr);
  if (hold <= 0) {
    expect_ok(static_cast<std::int32_t>(-hold), "belay_acquire");
  }
  return hold;
}

void Target::release(std::int64_t hold) {
  note_released(belay_release(client_, hold), "belay_release");
}

void Target::release_nowait(std::int64_t hold) {
  note_released(belay_release_nowait(client_, hold), "belay_release_nowait");
}

std::int64_t Target::lost() {
  return lost_holds.load();
}

Request::Request(const char* name, std::int64_t owner)
    : request_(belay_request_new(BELAY_LOCK)), owner_(owner) {
  expect_ok(belay_request_add_name(request_, name, -1), "belay_request_add_name");
}

Request::Request(const std::vector<std::string>& names) : request_(belay_request_new(BELAY_LOCK)) {
  for (const std::string& name : names) {
    expect_ok(belay_request_add_name(request_, name.c_str(), -1), "belay_request_add_name");
  }
}

Request::~Request() {
  belay_request_free(request_);
}

}  // namespace belay::bench
