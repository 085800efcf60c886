// URLs and options as somebody else may have written them: every setter of the C API, and what the
// URL became. A user or password never gets into a message.
#include <cstring>
#include <string>
#include <vector>

#include "api/handles.h"
#include "base/url.h"
#include "belay/belay.h"
#include "fuzz/input.h"
#include "fuzz/require.h"

namespace belay::fuzz {
namespace {

constexpr std::string_view kSecret = "SECRET";

// Ours is a word that no message uses. Of a good URL, what stands before an @ may be a user or a
// password, unless it is the scheme.
bool holds_secret(std::string_view url) {
  const std::size_t at = url.rfind('@');
  const std::size_t scheme = url.find("://");
  if (at == std::string_view::npos || url.substr(at).find(kSecret) != std::string_view::npos) {
    return false;
  }
  const bool has_scheme = scheme < at && url.substr(0, scheme).find('@') == std::string_view::npos;
  const std::size_t start = has_scheme ? scheme + 3 : 0;
  return url.substr(start, at - start).find(kSecret) != std::string_view::npos &&
         url.substr(0, start).find(kSecret) == std::string_view::npos;
}

void check_endpoint(const Endpoint& server) {
  require(server.port != 0, "a port was chosen");
  require(!server.host.empty(), "a host was chosen");
  require(server.path.empty() || (server.path[0] == '/' && server.path.size() < 108),
          "a path fits a socket's address", server.path);
  require(server.host.find('\0') == std::string::npos, "a host holds no NUL", server.host);
}

void check_endpoints(const std::vector<Endpoint>& servers) {
  require(!servers.empty() && servers.size() <= 32, "there are some servers, and not too many");
  for (const Endpoint& server : servers) {
    check_endpoint(server);
  }
}

std::string shown(const std::vector<Endpoint>& servers) {
  std::string all;
  for (const Endpoint& server : servers) {
    all += server.display() + ",";
  }
  return all;
}

void check_config(const Config& config) {
  require(config.database >= 0, "a database is no negative number");
  require(config.label.size() <= 64, "a label is short");
  require(!config.prefix.empty() && config.prefix.size() <= 64 &&
              config.prefix.find_first_of("{}") == std::string::npos,
          "a prefix holds no braces", config.prefix);
  require(config.watchdog_lease >= kMinLease && config.watchdog_lease <= kMaxLease,
          "a lease is within its limits");
  require(config.request_timeout >= 10 * kMillisecond && config.request_timeout <= 3600 * kSecond,
          "a request timeout is within its limits");
  require(config.max_hold == 0 || config.max_hold >= 100 * kMillisecond,
          "a max-hold is none or within its limits");
  require(config.max_pending >= 1 && config.max_pending <= 10'000'000,
          "a limit of submissions is within its limits");
  require(config.log_level >= BELAY_LOG_NONE && config.log_level <= BELAY_LOG_DEBUG,
          "a log level is one");
}

// `url` as a caller can hand it over, who has C strings only.
void check_url(std::string url) {
  url.resize(std::min(url.find('\0'), url.size()));
  belay_options* options = belay_options_new();
  const bool good = belay_options_set_url(options, url.c_str()) == BELAY_OK;
  const std::string error = belay_options_error(options);
  if (good) {
    check_config(options->config);
    check_endpoints(options->endpoints);
  } else {
    require(!error.empty(), "a refusal says why", url);
    require_readable(error);
  }
  if (!good || holds_secret(url)) {  // a bad one may hold it anywhere
    const std::string text = good ? shown(options->endpoints) : error;
    require(text.find(kSecret) == std::string::npos, "a message hides the secret", text);
  }
  belay_options_free(options);
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789aBcDeF";
  std::string encoded;
  for (const char byte : text) {
    const auto number = static_cast<unsigned char>(byte);
    encoded.append({'%', kDigits[number >> 4U], kDigits[number & 0xFU]});
  }
  return encoded;
}

// Words of a server with a secret in them, in any two parts of the same bytes.
void check_masked(std::string_view bytes) {
  std::string secret(bytes.substr(0, bytes.size() / 3));
  std::erase(secret, '*');  // beside ours it would look like more
  if (secret.empty()) {
    return;
  }
  const std::string words = std::string(bytes) + secret + std::string(bytes);
  require(masked(words, secret).find(secret) == std::string::npos, "a secret is masked", words);
  require(masked(percent_encoded(secret), secret) == "***", "also an encoded one", secret);
}

// A URL of parts, so that many of them are well-formed.
std::string url_of_parts(Input& input) {
  std::string url = input.any_of<const char*>({"redis://", "unix://", "rediss://", "://", ""});
  const std::size_t parts = input.below(12);
  for (std::size_t i = 0; i < parts; ++i) {
    url += input.any_of<const char*>({"SECRET",
                                      "host",
                                      "@",
                                      ":",
                                      "/",
                                      "?",
                                      "db=",
                                      "1",
                                      "6379",
                                      "65536",
                                      "%40",
                                      "%00",
                                      "%g",
                                      "[",
                                      "]",
                                      "::1",
                                      ",",
                                      "://",
                                      "\n",
                                      "\x1b",
                                      "?db=2",
                                      "/run/s.sock",
                                      " ",
                                      "label=",
                                      "&",
                                      "watchdog_lease_ms=",
                                      "max_hold_ms=",
                                      "log_level=",
                                      "debug",
                                      "500",
                                      "password=",
                                      "prefix="});
  }
  return url;
}

// A C string: what a caller can hand over.
std::string text_of(Input& input) {
  const std::string text(input.bytes());
  return text.substr(0, text.find('\0'));
}

std::int32_t set_one(belay_options* options, Input& input) {
  switch (input.below(12)) {
    case 0:
      return belay_options_set_url(options, text_of(input).c_str());
    case 1:
      return belay_options_set_url(options, url_of_parts(input).c_str());
    case 2:
      return belay_options_set_user(options, text_of(input).c_str());
    case 3:
      return belay_options_set_password(options, text_of(input).c_str());
    case 4:
      return belay_options_set_label(options, text_of(input).c_str());
    case 5:
      return belay_options_set_prefix(options, text_of(input).c_str());
    case 6:
      return belay_options_set_watchdog_lease_ms(options, input.integer());
    case 7:
      return belay_options_set_request_timeout_ms(options, input.integer());
    case 8:
      return belay_options_set_max_hold_ms(options, input.integer());
    case 9:
      return belay_options_set_max_pending(options, input.integer());
    case 10:
      return belay_options_set_log_level(options, static_cast<std::int32_t>(input.integer()));
    default: {
      // Not a file: the path would be opened.
      const auto index = static_cast<std::int32_t>(input.below(kOptions + 1));
      const char* name = belay_option_name(index);
      const bool is_file = name != nullptr && std::string_view(name) == "password_file";
      return belay_options_set(options, is_file ? "none" : name, text_of(input).c_str());
    }
  }
}

bool same(const Config& one, const Config& other) {
  const auto fields = [](const Config& config) {
    return std::tie(config.database, config.credentials.user, config.credentials.password,
                    config.label, config.prefix, config.watchdog_lease, config.request_timeout,
                    config.max_hold, config.max_pending, config.log_level, config.log_events);
  };
  return fields(one) == fields(other);
}

void check_options(Input& input) {
  belay_options* options = belay_options_new();
  std::string first_error = belay_options_error(options);
  for (int i = 0; i < 20 && !input.empty(); ++i) {
    const Config before = options->config;
    const std::string endpoint = shown(options->endpoints);
    const std::int32_t status = set_one(options, input);
    const std::string error = belay_options_error(options);
    if (status == BELAY_OK) {
      require(error == first_error, "a good setter leaves the error alone", error);
    } else {
      require(belay_status_class(status) == BELAY_CLASS_MISUSE, "a bad value is misuse", error);
      require(!error.empty(), "the first error is kept");
      require(same(before, options->config) && shown(options->endpoints) == endpoint,
              "a bad value changes nothing", error);
      require(first_error.empty() || error == first_error, "the first error stays", error);
      first_error = error;
    }
    require_readable(error);
    check_config(options->config);
    check_endpoints(options->endpoints);
  }
  belay_options_free(options);
}

}  // namespace
}  // namespace belay::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  belay::fuzz::Input input(data, size);
  switch (input.below(3)) {
    case 0: {
      const std::string_view rest = input.rest();
      belay::fuzz::check_masked(rest);
      belay::fuzz::check_url(std::string(rest));
      break;
    }
    case 1:
      belay::fuzz::check_url(belay::fuzz::url_of_parts(input));
      break;
    default:
      belay::fuzz::check_options(input);
  }
  return 0;
}
