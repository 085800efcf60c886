// From the options that every subcommand takes to a client, and from a status of the library to an
// exit code. Passwords pass through here to the library and go nowhere else.
#ifndef BELAY_TOOLS_SERVER_H
#define BELAY_TOOLS_SERVER_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "handles.h"

struct ServerOptions {
  // Of the library's options: names and values, in the order in which they are set.
  std::vector<std::pair<std::string, std::string>> settings;
};

// Whether the library writes its warnings to stderr, as BELAY_LOG says.
bool logs_warnings();
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
