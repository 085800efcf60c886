// Options of the C API: each setter checks, keeps the first error, and touches one field.
#include <cstring>
#include <string>

#include "api/handles.h"
#include "base/password_file.h"
#include "base/url.h"

namespace {

using belay::Status;

constexpr std::size_t kMaxLabel = 64;
constexpr std::size_t kMaxPrefix = 64;

// Notes an error and gives its code.
std::int32_t note(belay_options* options, Status status) {
  const std::int32_t code = status.code;
  if (!status.ok() && options->error.ok()) {
    options->error = std::move(status);
  }
  return code;
}

// Runs a setter's work if the options may still be changed.
template <typename Work>
std::int32_t set(belay_options* options, const char* what, const void* value, Work work) {
  if (options == nullptr) {
    return BELAY_INVALID_ARGUMENT;
  }
  if (options->used) {
    return note(options,
                Status(BELAY_ALREADY_USED,
                       std::string(what) + " was set after the options had made a client"));
  }
  if (value == nullptr) {
    return note(options, Status(BELAY_INVALID_ARGUMENT, std::string(what) + " was NULL"));
  }
  return note(options, work());
}

std::int32_t set_number(belay_options* options, const char* what, std::int64_t value,
                        std::int64_t low, std::int64_t high, std::int64_t unit,
                        std::int64_t* field) {
  return set(options, what, options, [&] {
    Status status = belay::checked_range(what, value, low, high);
    if (status.ok()) {
      *field = value * unit;
    }
    return status;
  });
}

}  // namespace

belay_options* belay_options_new(void) {
  auto* options = new belay_options;
  options->config = belay::default_config();
  options->url_variable = belay::read_url_variable(&options->config);
  options->log_variable = belay::read_log_variable(&options->config);
  return options;
}

void belay_options_free(belay_options* options) {
  delete options;
}

const char* belay_options_error(const belay_options* options) {
  return options == nullptr ? "the options were NULL" : options->trouble().message.c_str();
}

int32_t belay_options_set_url(belay_options* options, const char* url) {
  return set(options, "url", url, [&] {
    belay::Result<belay::ServerAddress> server = belay::parse_url(url);
    if (server.ok()) {
      options->config.server = std::move(server.value);
      options->url_variable = Status();
    }
    return server.status;
  });
}

int32_t belay_options_set_user(belay_options* options, const char* user) {
  return set(options, "user", user, [&] {
    options->user = user;
    return Status();
  });
}

int32_t belay_options_set_password(belay_options* options, const char* password) {
  return set(options, "password", password, [&] {
    options->password = belay::Secret(std::string_view(password));
    return Status();
  });
}

int32_t belay_options_set_password_file(belay_options* options, const char* path) {
  return set(options, "password_file", path, [&] {
    belay::Result<belay::PasswordFile> file = belay::read_password_file(path);
    if (file.ok()) {
      options->password = std::move(file.value.password);
      options->warning = std::move(file.value.warning);
    }
    return file.status;
  });
}

int32_t belay_options_set_label(belay_options* options, const char* label) {
  return set(options, "label", label, [&] {
    if (std::strlen(label) > kMaxLabel) {
      return Status(BELAY_INVALID_ARGUMENT,
                    "label '" + std::string(label) + "' has more than 64 bytes");
    }
    options->config.label = label;
    return Status();
  });
}

int32_t belay_options_set_prefix(belay_options* options, const char* prefix) {
  return set(options, "prefix", prefix, [&] {
    const std::string text = prefix;
    if (text.empty() || text.size() > kMaxPrefix || text.find_first_of("{}") != std::string::npos) {
      return Status(BELAY_INVALID_ARGUMENT,
                    "prefix '" + text + "': 1..64 bytes without braces are allowed");
    }
    options->config.prefix = text;
    return Status();
  });
}

int32_t belay_options_set_watchdog_lease_ms(belay_options* options, int64_t lease_ms) {
  return set_number(options, "watchdog_lease_ms", lease_ms, belay::kMinLease / 1000,
                    belay::kMaxLease / 1000, 1000,
                    options == nullptr ? nullptr : &options->config.watchdog_lease);
}

int32_t belay_options_set_request_timeout_ms(belay_options* options, int64_t timeout_ms) {
  return set_number(options, "request_timeout_ms", timeout_ms, 10, belay::kMaxRequestTimeout / 1000,
                    1000, options == nullptr ? nullptr : &options->config.request_timeout);
}

int32_t belay_options_set_max_hold_ms(belay_options* options, int64_t max_hold_ms) {
  return set_number(options, "max_hold_ms", max_hold_ms, max_hold_ms == 0 ? 0 : 100,
                    belay::kMonthMs, 1000,
                    options == nullptr ? nullptr : &options->config.max_hold);
}

int32_t belay_options_set_max_pending(belay_options* options, int64_t count) {
  return set_number(options, "max_pending", count, 1, 10'000'000, 1,
                    options == nullptr ? nullptr : &options->config.max_pending);
}

int32_t belay_options_set_log_level(belay_options* options, int32_t level) {
  return set(options, "log_level", options, [&] {
    Status status = belay::checked_range("log_level", level, BELAY_LOG_NONE, BELAY_LOG_DEBUG);
    if (status.ok()) {
      options->config.log_level = level;
      options->log_variable = Status();
    }
    return status;
  });
}
