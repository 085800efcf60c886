// Puts the halves together: wait for the lock, start the command, end it before the lock is lost,
// release. Every way out after the grant goes through release(), so that a command that could not
// be started, or failed, leaves nothing held.
#include "run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "child.h"
#include "signals.h"
#include "supervisor.h"
#include "text.h"
#include "wait.h"

namespace {

// The command's file name: what inspect shows of us unless --label or the URL says otherwise.
std::string default_label(const std::string& program) {
  constexpr std::size_t kLongestLabel = 64;
  const std::string name = program.substr(program.rfind('/') + 1);
  const bool plain =
      std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 127; });
  return plain && !name.empty() && name.size() <= kLongestLabel ? name : "belay";
}

bool sets_any(std::string_view entry, const std::vector<std::string>& settings) {
  const std::string_view name = entry.substr(0, entry.find('=') + 1);
  return std::any_of(settings.begin(), settings.end(),
                     [name](const std::string& setting) { return setting.starts_with(name); });
}

constexpr const char* kSentinelPassword = "BELAY_SENTINEL_PASSWORD=";

// The inherited environment, with ours in place of an outer belay's, and without passwords:
// environments end up in logs.
std::vector<std::string> child_environment(const std::vector<std::string>& names,
                                           const std::vector<std::int64_t>& fences) {
  std::string all;
  for (const std::int64_t fence : fences) {
    all += (all.empty() ? "" : " ") + std::to_string(fence);
  }
  std::vector<std::string> result = {
      "BELAY_NAME=" + names[0], "BELAY_FENCE=" + std::to_string(fences[0]), "BELAY_FENCES=" + all};
  const char* url = std::getenv("BELAY_URL");  // NOLINT(concurrency-mt-unsafe)
  if (url != nullptr) {
    result.push_back("BELAY_URL=" + without_password(url));
  }
  const std::vector<std::string> ours = result;
  for (char** entry = environ; *entry != nullptr; entry++) {
    if (!sets_any(*entry, ours) && !std::string_view(*entry).starts_with(kSentinelPassword)) {
      result.emplace_back(*entry);
    }
  }
  return result;
}

// The library's warnings come as events, for Wait, unless its log has them.
ServerOptions with_warnings(ServerOptions server) {
  if (!logs_warnings()) {
    server.settings.insert(server.settings.begin(), {"log_events", "warning"});
  }
  return server;
}

// Releases the hold. The exit code is the command's unless the lock was lost.
int release(belay_client* client, std::int64_t hold, const RunOptions& options, bool intervened,
            int exit_code) {
  const Event why(belay_release_within(client, hold, hold, -1));
  const std::int32_t status = belay_event_status(why.get());
  if (intervened) {
    return kExitLost;
  }
  if (status == BELAY_LOST) {
    complain(in_words(options.names) + " was lost: " + reason(why.get()));
    return kExitLost;
  }
  if (status != BELAY_OK) {
    complain(in_words(options.names) +
             " could not be released and is free when its lease ends: " + reason(why.get()));
  }
  return exit_code;
}

int run_command(belay_client* client, Signals& signals, const RunOptions& options,
                const Grant& grant) {
  const Command command{options.command, child_environment(options.names, grant.fences),
                        isatty(STDIN_FILENO) != 1};
  Child child;
  if (belay_hold_remaining_ms(client, grant.hold) <= 0) {  // belay was stopped at this moment
    return release(client, grant.hold, options, false, kExitLost);
  }
  signals.watch_job_control();
  const StartError error = child.start(command, signals);
  if (error.exit_code != 0) {
    complain(error.message);
    return release(client, grant.hold, options, false, error.exit_code);
  }
  Supervisor supervisor(client, grant.hold, child, signals, options);
  supervisor.run();
  if (!child.error().empty()) {
    complain(child.error());
  }
  return release(client, grant.hold, options, supervisor.intervened(), child.exit_code());
}

}  // namespace

int run(const RunOptions& options) {
  // The library's default label is the program's name. As an option it would override the URL's.
  std::string label = default_label(options.command[0]);
  program_invocation_short_name = label.data();
  const Client client = open_client(with_warnings(options.server));
  if (!client) {
    return kExitUsage;
  }
  Signals signals;  // not before: reading a password may take its time, and TERM ends it
  if (signals.fd() < 0) {
    complain("could not make a signal descriptor");
    return kExitOsError;
  }
  const Grant grant = Wait(client.get(), signals, options).run();
  if (grant.hold == 0) {
    return grant.exit_code;
  }
  return run_command(client.get(), signals, options, grant);
}
