// One CLI11 parser per subcommand. They are not CLI11's own subcommands, because those would take a
// NAME or COMMAND for a subcommand that is called the same.
#include "arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "exit_codes.h"
#include "help.h"
#include "text.h"

namespace {

constexpr double kMostSeconds = 1e9;
constexpr std::int64_t kLargestId = (std::int64_t{1} << 53) - 1;
constexpr std::int64_t kShortestIntervalMs = 100;  // shorter ones would be a load of their own

// Of the library, in seconds.
constexpr double kLeastLease = 0.1;
constexpr double kMostLease = 24.0 * 3600;
constexpr double kLeastRequestTimeout = 0.01;
constexpr double kMostRequestTimeout = 3600;
constexpr double kMostLockDelay = 60;
constexpr double kMonth = 30.0 * 24 * 3600;
constexpr std::int64_t kMostCount = 1'000'000'000;
constexpr std::int64_t kMostPermits = 0x7FFFFFFF;

// Fractions are fine; what is more than nothing is at least a millisecond.
std::int64_t to_ms(const std::string& option, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(value >= 0 && value <= kMostSeconds)) {
    throw CLI::ValidationError(option, "not a number of seconds: " + in_quotes(text));
  }
  const auto ms = static_cast<std::int64_t>(std::llround(value * 1000));
  return value > 0 ? std::max<std::int64_t>(1, ms) : 0;
}

template <typename Target>
CLI::Option* add_seconds(CLI::App& app, const std::string& names, const std::string& shown,
                         Target& target) {
  return app.add_option_function<std::string>(
      names, [shown, &target](const std::string& text) { target = to_ms(shown, text); });
}

std::string in_digits(double number) {
  std::array<char, 32> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), result.ptr};
}

// The same within bounds, of something that `take` does with it.
template <typename Take>
void add_bounded_seconds(CLI::App& app, const std::string& name, double low, double high,
                         Take take) {
  app.add_option_function<std::string>(name, [=](const std::string& text) {
    const std::int64_t ms = to_ms(name, text);
    if (ms < std::llround(low * 1000) || ms > std::llround(high * 1000)) {
      throw CLI::ValidationError(name, "not from " + in_digits(low) + " to " + in_digits(high) +
                                           " seconds: " + in_quotes(text));
    }
    take(ms);
  });
}

// "2/8".
void take_permits(const std::string& text, RunOptions& options) {
  const char* end = text.data() + text.size();
  const auto permits = std::from_chars(text.data(), end, options.permits);
  const bool divided = permits.ec == std::errc() && permits.ptr != end && *permits.ptr == '/';
  const auto limit = divided ? std::from_chars(permits.ptr + 1, end, options.limit) : permits;
  if (!divided || limit.ec != std::errc() || limit.ptr != end || options.permits < 1 ||
      options.permits > options.limit) {
    throw CLI::ValidationError("--permits", "not N/LIMIT, N from 1 to LIMIT: " + in_quotes(text));
  }
}

// An option of the library, under a name of ours.
void add_setting(CLI::App& app, const std::string& option, const std::string& name,
                 ServerOptions& server) {
  app.add_option_function<std::string>(option, [name, &server](const std::string& text) {
    server.settings.emplace_back(name, text);
  });
}

// The same, in seconds instead of the library's milliseconds.
void add_setting_in_seconds(CLI::App& app, const std::string& option, double low, double high,
                            const std::string& name, ServerOptions& server) {
  add_bounded_seconds(app, option, low, high, [name, &server](std::int64_t ms) {
    server.settings.emplace_back(name, std::to_string(ms));
  });
}

// "NAME=VALUE".
void take_setting(const std::string& text, ServerOptions& server) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals == std::string::npos) {
    throw CLI::ValidationError("not NAME=VALUE: " + in_quotes(text));
  }
  if (belay_option_text(name.c_str(), BELAY_OPTION_ABOUT) == nullptr) {
    throw CLI::ValidationError("no option of the library: " + in_quotes(name));
  }
  if (name == "password") {
    throw CLI::ValidationError("a password would show in ps: --password-file takes it");
  }
  server.settings.emplace_back(name, text.substr(equals + 1));
}

void add_server_options(CLI::App& app, ServerOptions& server) {
  add_setting(app, "--url", "url", server);
  add_setting(app, "--user", "user", server);
  add_setting(app, "--password-file", "password_file", server);
  add_setting(app, "--prefix", "prefix", server);
  for (const char* what :
       {"ca-file", "ca-dir", "cert-file", "key-file", "server-name", "min-version"}) {
    std::string name = std::string("tls-") + what;
    std::replace(name.begin(), name.end(), '-', '_');
    add_setting(app, std::string("--tls-") + what, name, server);
  }
  add_setting_in_seconds(app, "--request-timeout", kLeastRequestTimeout, kMostRequestTimeout,
                         "request_timeout_ms", server);
  app.add_option("--set")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->each([&server](const std::string& text) { take_setting(text, server); });
}

int complain_of_usage(const CLI::App& app, const std::string& message) {
  complain(message + " (see " + app.get_name() + " --help)");
  return kExitUsage;
}

// Nothing: go on.
std::optional<int> parse(CLI::App& app, std::vector<std::string> arguments, const char* help) {
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(std::move(arguments));
    return std::nullopt;
  } catch (const CLI::Success&) {
    std::fputs(help, stdout);
    return kExitOk;
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> words = app.remaining();
    const auto option = std::find_if(words.begin(), words.end(),
                                     [](const std::string& word) { return word.starts_with('-'); });
    return complain_of_usage(app, option != words.end() ? "unknown option " + shown_word(*option)
                                                        : "too many arguments");
  } catch (const CLI::ParseError& error) {
    return complain_of_usage(app, error.what());
  }
}

std::variant<int, ShowOptions> parse_show(CLI::App& app, ShowOptions& options,
                                          std::vector<std::string> arguments, const char* help,
                                          const char* what) {
  app.add_option(what, options.name)->required(options.name.empty());
  app.add_flag("--json", options.json);
  add_server_options(app, options.server);
  if (const auto code = parse(app, std::move(arguments), help)) {
    return *code;
  }
  return options;
}

// Of CLI11, the names are no option with many values, as that would take a name such as [a,b] for a
// list. Where a "--" stands, they are what it does not know before that; else NAME is an option
// with one value and CLI11 stops after it.
struct RunWords {
  std::vector<std::string> before;  // of the "--" that ends the options, without these
  std::vector<std::string> after;
  bool separated = false;
};

RunWords split(std::vector<std::string> arguments) {
  RunWords words;
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  words.separated = separator != arguments.end();
  if (words.separated) {
    words.after.assign(separator + 1, arguments.end());
  }
  words.before.assign(arguments.begin(), separator);
  return words;
}

// NAME... -- COMMAND, or NAME COMMAND.
void take_names_and_command(std::vector<std::string> words, RunOptions& options) {
  auto separator = std::find(words.begin(), words.end(), "--");
  if (separator == words.end() && !words.empty()) {
    separator = words.begin() + 1;
  }
  options.names.assign(words.begin(), separator);
  options.command.assign(separator, words.end());
}

// What CLI11 has left becomes names and command. An error's text, or "".
std::string take_rest(std::vector<std::string> rest, RunWords words, const std::string& shell_text,
                      RunOptions& options) {
  const auto unknown = std::find_if(rest.begin(), rest.end(), [](const std::string& word) {
    return word.size() > 1 && word[0] == '-';
  });
  if (unknown != rest.end() && (words.separated || unknown == rest.begin())) {
    return "unknown option " + shown_word(*unknown);
  }
  if (!words.separated) {
    options.command = std::move(rest);
  } else if (rest.empty()) {
    take_names_and_command(std::move(words.after), options);
  } else {
    options.names = std::move(rest);
    options.command = std::move(words.after);
  }
  while (words.separated && !options.command.empty() && options.command[0] == "--") {
    options.command.erase(options.command.begin());
  }
  if (options.names.empty()) {
    return "no NAME was given";
  }
  if (shell_text.empty() == options.command.empty()) {
    return shell_text.empty() ? "no COMMAND was given" : "-c and a COMMAND exclude each other";
  }
  return "";
}

std::vector<std::string> shell_command(const std::string& text) {
  const char* shell = std::getenv("SHELL");  // NOLINT(concurrency-mt-unsafe): one thread so far
  const bool usable = shell != nullptr && *shell != '\0';
  return {usable ? shell : "/bin/sh", "-c", text};
}

void add_run_options(CLI::App& app, RunOptions& options) {
  bool& verbose = options.verbose;
  CLI::Option* nonblock =
      app.add_flag_callback("-n,--nonblock", [&options] { options.wait_ms = 0; });
  add_seconds(app, "-w,--wait,--timeout", "--wait", options.wait_ms)->excludes(nonblock);
  app.add_option("-E,--conflict-exit-code", options.conflict_code)->check(CLI::Range(0, 255));
  CLI::Option* exclusive = app.add_flag_callback("-x,--exclusive,-e", [] {});
  CLI::Option* shared = app.add_flag("-s,--shared", options.shared)->excludes(exclusive);
  CLI::Option* permits = app.add_option_function<std::string>(
      "--permits", [&options](const std::string& text) { take_permits(text, options); });
  permits->excludes(exclusive)->excludes(shared);
  CLI::Option* identity = app.add_option("--identity", options.identity);
  identity->excludes(exclusive)->excludes(shared)->excludes(permits);
  add_bounded_seconds(app, "--lock-delay", 0, kMostLockDelay,
                      [&options](std::int64_t ms) { options.lock_delay_ms = ms; });
  add_setting_in_seconds(app, "--lease", kLeastLease, kMostLease, "watchdog_lease_ms",
                         options.server);
  add_setting_in_seconds(app, "--max-hold", kLeastLease, kMonth, "max_hold_ms", options.server);
  add_seconds(app, "--kill-after", "--kill-after", options.kill_after_ms);
  add_setting(app, "--label", "label", options.server);
  app.add_flag("-v,--verbose", verbose);
  add_server_options(app, options.server);
}

}  // namespace

std::variant<int, RunOptions> parse_run(std::vector<std::string> arguments) {
  CLI::App app("", "belay run");
  RunOptions options;
  std::string shell_text;
  add_run_options(app, options);
  app.add_option("-c,--command", shell_text);
  RunWords words = split(std::move(arguments));
  if (words.separated) {
    app.allow_extras();
  } else {
    app.add_option_function<std::string>(
        "NAME", [&options](const std::string& name) { options.names = {name}; });
    app.prefix_command();
  }
  if (const auto code = parse(app, std::move(words.before), kRunHelp)) {
    return *code;
  }
  const std::string error = take_rest(app.remaining(), std::move(words), shell_text, options);
  if (!error.empty()) {
    return complain_of_usage(app, error);
  }
  if (!shell_text.empty()) {
    options.command = shell_command(shell_text);
  }
  return options;
}

std::variant<int, ShowOptions> parse_inspect(std::vector<std::string> arguments) {
  CLI::App app("", "belay inspect");
  ShowOptions options;
  return parse_show(app, options, std::move(arguments), kInspectHelp, "NAME");
}

std::variant<int, ShowOptions> parse_list(std::vector<std::string> arguments) {
  CLI::App app("", "belay ls");
  ShowOptions options;
  options.name = "*";
  app.add_option("--limit", options.limit)->check(CLI::Range(1, 1000000));
  return parse_show(app, options, std::move(arguments), kListHelp, "PATTERN");
}

std::variant<int, ShowOptions> parse_break(std::vector<std::string> arguments) {
  CLI::App app("", "belay break");
  ShowOptions options;
  app.add_option("--fence", options.fence)->check(CLI::Range(std::int64_t{1}, kLargestId));
  return parse_show(app, options, std::move(arguments), kBreakHelp, "NAME");
}

namespace {

// The word after `latch` or `semaphore`; "" where there is none.
std::string take_verb(std::vector<std::string>& arguments) {
  std::string verb;
  if (!arguments.empty() && !arguments[0].empty() && arguments[0][0] != '-') {
    verb = arguments[0];
    arguments.erase(arguments.begin());
  }
  return verb;
}

}  // namespace

std::variant<int, LatchOptions> parse_latch(std::vector<std::string> arguments) {
  LatchOptions options;
  options.verb = take_verb(arguments);
  CLI::App app("", "belay latch");
  CLI::Range count(std::int64_t{1}, kMostCount);
  app.add_option("NAME", options.name)->required();
  if (options.verb == "set") {
    app.add_option("COUNT", options.count)->required()->check(count);
    add_bounded_seconds(app, "--ttl", kLeastLease, kMonth,
                        [&options](std::int64_t ms) { options.ttl_ms = ms; });
  } else if (options.verb == "down") {
    app.add_option("N", options.count)->check(count);
  } else if (options.verb == "wait") {
    CLI::Option* nonblock =
        app.add_flag_callback("-n,--nonblock", [&options] { options.wait_ms = 0; });
    add_seconds(app, "-w,--wait,--timeout", "--wait", options.wait_ms)->excludes(nonblock);
  }
  if (options.verb == "down" || options.verb == "show") {
    app.add_flag("--json", options.json);
  }
  add_server_options(app, options.server);
  if (const auto code = parse(app, std::move(arguments), kLatchHelp)) {
    return *code;
  }
  const std::vector<std::string> verbs = {"set", "down", "wait", "show"};
  if (std::find(verbs.begin(), verbs.end(), options.verb) == verbs.end()) {
    return complain_of_usage(app,
                             "neither set nor down, wait or show: " + shown_word(options.verb));
  }
  return options;
}

std::variant<int, SemaphoreOptions> parse_semaphore(std::vector<std::string> arguments) {
  SemaphoreOptions options;
  options.verb = take_verb(arguments);
  CLI::App app("", "belay semaphore");
  app.add_option("NAME", options.name)->required();
  if (options.verb == "set") {
    app.add_option("LIMIT", options.limit)
        ->required()
        ->check(CLI::Range(std::int64_t{1}, kMostPermits));
  } else {
    app.add_flag("--json", options.json);
  }
  add_server_options(app, options.server);
  if (const auto code = parse(app, std::move(arguments), kSemaphoreHelp)) {
    return *code;
  }
  if (options.verb != "set" && options.verb != "show") {
    return complain_of_usage(app, "neither set nor show: " + shown_word(options.verb));
  }
  return options;
}

std::variant<int, TopOptions> parse_top(std::vector<std::string> arguments) {
  CLI::App app("", "belay top");
  TopOptions options;
  std::string order = "waiters";
  app.add_option("PATTERN", options.pattern);
  add_seconds(app, "--interval", "--interval", options.interval_ms);
  app.add_option("--limit", options.limit)->check(CLI::Range(1, 10000));
  app.add_option("--count", options.count)->check(CLI::Range(std::int64_t{1}, kLargestId));
  app.add_option("--sort", order)->check(CLI::IsMember({"waiters", "held", "changes"}));
  app.add_flag("--json", options.json);
  add_server_options(app, options.server);
  if (const auto code = parse(app, std::move(arguments), kTopHelp)) {
    return *code;
  }
  if (options.interval_ms < kShortestIntervalMs) {
    return complain_of_usage(app, "--interval: at least 0.1 seconds");
  }
  options.order = order == "waiters" ? Order::kWaiters
                  : order == "held"  ? Order::kHeld
                                     : Order::kChanges;
  return options;
}
