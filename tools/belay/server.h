// From the options that every subcommand takes to a client, and from a status of the library to an
// exit code. Passwords pass through here to the library and go nowhere else.
#ifndef BELAY_TOOLS_SERVER_H
#define BELAY_TOOLS_SERVER_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "handles.h"

struct ServerOptions {
  std::optional<std::string> url;
  std::optional<std::string> user;
  std::optional<std::string> password_file;
  std::optional<std::string> prefix;
  std::optional<std::string> label;
  std::map<std::string, std::string> tls;  // by the library's names of options
  std::optional<std::int64_t> request_timeout_ms;
  std::optional<std::int64_t> lease_ms;
  std::optional<std::int64_t> max_hold_ms;
};

// A client that connects in the background; nullptr after a complaint about the options.
Client open_client(const ServerOptions& options);
// A server's URL without its password, and without a lone word that may be meant as one.
std::string without_password(const std::string& url);
// The code with which this program ends when a call answered `status`.
int exit_code_of(std::int32_t status);
// Complains of an outcome other than OK; `why` may be nullptr. Returns the code to end with.
int fail(std::int32_t status, const belay_event* why);
// What an event says about its outcome: its message, or the status by name.
std::string reason(const belay_event* event);

#endif
