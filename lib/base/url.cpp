#include "base/url.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/authority.h"
#include "base/config.h"

namespace belay {

namespace {

constexpr std::int32_t kMaxDatabase = 1'000'000;  // a sanity bound: servers have 16 by default
constexpr std::size_t kMaxHosts = 32;             // likewise: a master has a few replicas
constexpr std::size_t kLongestMaster = 255;       // a sanity bound
constexpr std::uint16_t kSentinelPort = 26379;
constexpr const char* kKnownSchemes =
    "redis://, redis-sentinel://, redis-cluster:// and unix:// are known, and with TLS rediss://, "
    "rediss-sentinel:// and rediss-cluster://";

std::optional<std::int32_t> parse_number(std::string_view digits, std::int32_t low,
                                         std::int32_t high) {
  std::int32_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (digits.empty() || error != std::errc() || stop != end || number < low || number > high) {
    return std::nullopt;
  }
  return number;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  // Made where it is returned, and grown once: no copy of a password stays behind.
  std::optional<std::string> decoded(std::in_place);
  decoded->reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded->push_back(text[i]);
      continue;
    }
    unsigned byte = 0;
    const std::string_view hex = text.substr(i + 1, 2);
    const auto [stop, error] = std::from_chars(hex.data(), hex.data() + hex.size(), byte, 16);
    if (hex.size() != 2 || error != std::errc() || stop != hex.data() + 2 || byte == 0) {
      wipe(&*decoded);
      decoded.reset();
      break;
    }
    decoded->push_back(static_cast<char>(byte));
    i += 2;
  }
  return decoded;
}

// "redis://***", or "" for a scheme that nobody knows: it may be anything.
std::string shown_scheme(std::string_view url) {
  static constexpr std::array<std::string_view, 16> kSchemes{
      "redis",         "unix",    "rediss", "valkey",        "valkeys",        "http",
      "https",         "tcp",     "tls",    "sentinel",      "redis-sentinel", "rediss-sentinel",
      "redis-cluster", "cluster", "file",   "rediss-cluster"};
  const std::string_view scheme = url.substr(0, url.find("://"));
  const bool known = scheme.size() < url.size() &&
                     std::find(kSchemes.begin(), kSchemes.end(), scheme) != kSchemes.end();
  return known ? " " + std::string(scheme) + "://***" : "";
}

// `part` is one of the URL's.
Status refused(std::int32_t code, std::string_view url, std::string_view part,
               const std::string& what) {
  const auto position = part.data() - url.data() + 1;
  return {code,
          "URL" + shown_scheme(url) + ", from byte " + std::to_string(position) + ": " + what};
}

Status malformed(std::string_view url, std::string_view part, const std::string& what) {
  return refused(BELAY_INVALID_ARGUMENT, url, part, what);
}

Status unsupported(std::string_view url, std::string_view part, const std::string& what) {
  return refused(BELAY_UNSUPPORTED_URL, url, part, what);
}

// [[user]:password@]: a lone word is a user without a password.
bool read_userinfo(std::string_view userinfo, ServerUrl* server) {
  const std::size_t colon = userinfo.find(':');
  const auto user = percent_decoded(userinfo.substr(0, colon));
  auto password = percent_decoded(colon == std::string_view::npos ? std::string_view()
                                                                  : userinfo.substr(colon + 1));
  if (!user || !password) {
    return false;
  }
  server->credentials.user = *user;
  server->credentials.password = Secret(std::move(*password));
  return true;
}

Status read_host(std::string_view url, std::string_view text, Endpoint* endpoint) {
  Authority authority;
  if (const Flaw flaw = split_authority(text, &authority); flaw.any()) {
    return malformed(url, flaw.part, flaw.what);
  }
  endpoint->port = authority.port.value_or(endpoint->port);
  const auto host = percent_decoded(authority.host);
  if (!host) {
    return malformed(url, authority.host, "the host has a bad % escape");
  }
  if (const std::string wrong = host_flaw(*host); !wrong.empty()) {
    return malformed(url, authority.host, wrong);
  }
  if (!host->empty()) {
    endpoint->host = *host;
  }
  return {};
}

// host[:port],host[:port]...: one master and its replicas.
Status read_hosts(std::string_view url, std::string_view list, ServerUrl* server) {
  const auto commas = static_cast<std::size_t>(std::count(list.begin(), list.end(), ','));
  if (commas >= kMaxHosts) {
    return malformed(url, list,
                     "the list has " + std::to_string(commas + 1) + " hosts, at most " +
                         std::to_string(kMaxHosts) + " are taken");
  }
  const Endpoint usual = server->endpoints.front();
  server->endpoints.assign(commas + 1, usual);
  std::vector<std::string> seen;
  for (Endpoint& endpoint : server->endpoints) {
    const std::string_view item = list.substr(0, list.find(','));
    const std::string number = std::to_string(seen.size() + 1);
    if (item.empty() && commas > 0) {
      return malformed(url, item, "host " + number + " of the list is empty");
    }
    if (Status status = read_host(url, item, &endpoint); !status.ok()) {
      return status;
    }
    const std::string shown = in_lower_case(endpoint.display());
    if (const auto same = std::find(seen.begin(), seen.end(), shown); same != seen.end()) {
      return malformed(url, item,
                       "host " + number + " of the list is the same as host " +
                           std::to_string(same - seen.begin() + 1));
    }
    seen.push_back(shown);
    list.remove_prefix(std::min(item.size() + 1, list.size()));
  }
  return {};
}

Status read_database(std::string_view url, std::string_view digits, const char* hint,
                     ServerUrl* server) {
  const auto number = parse_number(digits, 0, kMaxDatabase);
  if (!number) {
    return malformed(
        url, digits,
        "the database is not a number from 0 to " + std::to_string(kMaxDatabase) + hint);
  }
  server->database = *number;
  return {};
}

Status read_parameter(std::string_view url, std::string_view parameter, bool takes_db,
                      const UrlParameter& take, ServerUrl* server) {
  const std::size_t mark = parameter.find('=');
  if (mark == std::string_view::npos) {
    return malformed(url, parameter, "a parameter is NAME=VALUE");
  }
  const std::string_view name = parameter.substr(0, mark);
  const std::string_view text = parameter.substr(mark + 1);
  if (takes_db && name == "db") {
    return read_database(url, text, "", server);
  }
  const auto value = percent_decoded(text);
  const std::string wrong = value ? take(name, *value) : "a parameter has a bad % escape";
  return wrong.empty() ? Status() : malformed(url, parameter, wrong);
}

// NAME=VALUE&NAME=VALUE
Status read_query(std::string_view url, std::string_view query, bool takes_db,
                  const UrlParameter& take, ServerUrl* server) {
  if (query.find('@') != std::string_view::npos) {
    return malformed(url, query,
                     "a '?' in the user or password, or an '@' in a parameter, must be "
                     "percent-encoded");
  }
  Status status;
  bool has_db = false;
  while (status.ok() && !query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view parameter = query.substr(0, end);
    if (takes_db && parameter.starts_with("db=") && std::exchange(has_db, true)) {
      return malformed(url, parameter, "db was given twice");
    }
    status = read_parameter(url, parameter, takes_db, take, server);
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return status;
}

// What stands behind the slash, as it is written: a database, or, of sentinels, a master.
Status read_path(std::string_view url, std::string_view path, bool of_sentinels,
                 ServerUrl* server) {
  if (!of_sentinels) {
    Status status =
        path.empty()
            ? Status()
            : read_database(url, path, "; a master's name needs redis-sentinel://", server);
    return status.ok() && server->of_cluster && server->database != 0
               ? malformed(url, path, "a cluster has one database, 0")
               : status;
  }
  const auto name = percent_decoded(path);
  if (!name) {
    return malformed(url, path, "the name of the master has a bad % escape");
  }
  const bool is_name = std::none_of(name->begin(), name->end(), [](char byte) {
    const auto code = static_cast<unsigned char>(byte);
    return code <= ' ' || code == 0x7F || byte == '/' || byte == '#';
  });
  if (name->empty() || name->size() > kLongestMaster || !is_name) {
    return malformed(url, path,
                     "the name of the master stands behind the sentinels, as in "
                     "redis-sentinel://host/mymaster: 1.." +
                         std::to_string(kLongestMaster) +
                         " bytes without spaces, '/' and '#'; the database is the parameter db");
  }
  server->master = *name;
  return {};
}

// host[:port][,host[:port]...][/path][?parameters]
Status parse_hosts(std::string_view url, std::string_view rest, bool of_sentinels,
                   const UrlParameter& take, ServerUrl* server) {
  const std::size_t mark = rest.find('?');
  if (mark != std::string_view::npos) {
    if (Status status = read_query(url, rest.substr(mark + 1), of_sentinels, take, server);
        !status.ok()) {
      return status;
    }
    rest = rest.substr(0, mark);
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  server->endpoints.front().port = of_sentinels ? kSentinelPort : server->endpoints.front().port;
  Status status = read_hosts(url, rest.substr(0, slash), server);
  return status.ok()
             ? read_path(url, rest.substr(std::min(slash + 1, rest.size())), of_sentinels, server)
             : status;
}

bool is_of_redis(std::string_view scheme) {
  for (const std::string_view kind : {"", "-sentinel", "-cluster"}) {
    if (scheme == "redis" + std::string(kind) || scheme == "rediss" + std::string(kind)) {
      return true;
    }
  }
  return false;
}

// redis://, or a scheme like it: `s` behind redis asks for TLS.
Status parse_redis(std::string_view url, std::string_view scheme, std::string_view rest,
                   const UrlParameter& take, ServerUrl* server) {
  server->endpoints.front().tls = scheme.starts_with("rediss");
  server->of_cluster = scheme.ends_with("-cluster");
  return server->endpoints.front().tls && !kHasTls
             ? unsupported(url, url, "this library was built without TLS")
             : parse_hosts(url, rest, scheme.ends_with("-sentinel"), take, server);
}

Status parse_unix(std::string_view url, std::string_view rest, const UrlParameter& take,
                  ServerUrl* server) {
  const std::size_t mark = rest.find('?');
  const auto path = percent_decoded(rest.substr(0, mark));
  if (!path || !path->starts_with('/') || path->size() < 2) {
    return malformed(url, rest, "unix:// takes an absolute path");
  }
  constexpr std::size_t kMaxPath = 107;  // sockaddr_un
  if (path->size() > kMaxPath) {
    return malformed(
        url, rest,
        "the path of the socket has " + std::to_string(path->size()) + " bytes, at most 107 fit");
  }
  server->endpoints.front().path = *path;
  return mark == std::string_view::npos
             ? Status()
             : read_query(url, rest.substr(mark + 1), true, take, server);
}

// Where the userinfo ends (its @), npos where there is none: the last @ before the query, so that a
// password may hold one that is not encoded.
std::size_t userinfo_end(std::string_view rest) {
  return rest.substr(0, rest.find('?')).rfind('@');
}

// As in user:pw@a,user:pw@b, which would be one host and a strange password.
bool names_user_twice(std::string_view userinfo) {
  return userinfo.find(',', std::min(userinfo.find('@'), userinfo.size())) !=
         std::string_view::npos;
}

}  // namespace

Result<ServerUrl> parse_url(std::string_view url, const UrlParameter& take) {
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos) {
    return malformed(url, url, std::string("there is no scheme; ") + kKnownSchemes);
  }
  const std::string_view scheme = url.substr(0, colon);
  std::string_view rest = url.substr(colon + 3);
  if (scheme.find('@') != std::string_view::npos) {
    return malformed(url, url, "a user and password belong behind ://");
  }
  ServerUrl server;
  if (const std::size_t at = userinfo_end(rest); at != std::string_view::npos) {
    if (names_user_twice(rest.substr(0, at))) {
      return malformed(url, rest,
                       "user and password stand once, before the first host; a ',' behind an '@' "
                       "in a password must be percent-encoded");
    }
    if (!read_userinfo(rest.substr(0, at), &server)) {
      return malformed(url, rest, "the user or password has a bad % escape");
    }
    rest = rest.substr(at + 1);
  }
  Status status;
  if (scheme == "unix") {
    status = parse_unix(url, rest, take, &server);
  } else if (is_of_redis(scheme)) {
    status = parse_redis(url, scheme, rest, take, &server);
  } else {
    status = unsupported(url, url, std::string("the scheme is not supported; ") + kKnownSchemes);
  }
  if (!status.ok()) {
    return status;
  }
  return server;
}

}  // namespace belay
