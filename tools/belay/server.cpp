// The setters remember their first error, so they are all called and asked once. What is not set
// here keeps the library's default, which includes BELAY_URL from the environment.
#include "server.h"

#include <sys/stat.h>

#include <cstdlib>

#include "exit_codes.h"
#include "text.h"

namespace {

// The library says so in its log, which few turn on.
void warn_of_readers(const std::string& password_file) {
  if (logs_warnings()) {
    return;
  }

  struct stat about {};

  if (stat(password_file.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
      (about.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    complain("warning: the password file " + in_quotes(password_file) +
             " is open to others than its owner (chmod 600)");
  }
}

}  // namespace

bool logs_warnings() {
  const char* level = std::getenv("BELAY_LOG");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  const std::string log = level != nullptr ? level : "";
  return log == "warning" || log == "info" || log == "debug";
}

Client open_client(const ServerOptions& options) {
  const Options settings(belay_options_new());
  for (const auto& [name, value] : options.settings) {
    belay_options_set(settings.get(), name.c_str(), value.c_str());
  }
  Client client(belay_client_new(settings.get()));
  if (!client) {
    complain(visible(belay_options_error(settings.get())));
    return client;
  }
  for (const auto& [name, value] : options.settings) {
    if (name == "password_file") {
      warn_of_readers(value);
    }
  }
  return client;
}

std::string without_password(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t at = url.substr(0, url.find('?')).rfind('@');
  if (scheme == std::string::npos || at == std::string::npos || at < scheme) {
    return url;
  }
  const std::size_t start = scheme + 3;
  const std::string userinfo = url.substr(start, at - start);
  const std::size_t colon = userinfo.find(':');
  const bool has_user = colon != std::string::npos && colon > 0;
  return url.substr(0, start) + (has_user ? userinfo.substr(0, colon) + "@" : "") +
         url.substr(at + 1);
}

int exit_code_of(std::int32_t status) {
  switch (status) {
    case BELAY_OK:
      return kExitOk;
    case BELAY_BUSY:
    case BELAY_TIMEOUT:
    case BELAY_IN_USE:
      return kExitConflict;
    case BELAY_NOT_FOUND:
      return kExitMissing;
    case BELAY_LOST:
      return kExitLost;
    default:
      return belay_status_class(status) == BELAY_CLASS_MISUSE ? kExitUsage : kExitUnavailable;
  }
}

int fail(std::int32_t status, const belay_event* why) {
  complain(why == nullptr ? belay_status_name(status) : reason(why));
  return exit_code_of(status);
}

std::string reason(const belay_event* event) {
  if (event == nullptr) {
    return "no details";
  }
  const std::string message = visible(belay_event_message(event));
  return message.empty() ? belay_status_name(belay_event_status(event)) : message;
}
