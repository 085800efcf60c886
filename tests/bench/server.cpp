#include "server.h"

#include <hiredis/hiredis.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <thread>

namespace belay::bench {

namespace {

std::int64_t field_of(const std::string& line, const std::string& name) {
  const std::size_t at = line.find(name + "=");
  return at == std::string::npos ? 0
                                 : std::strtoll(line.c_str() + at + name.size() + 1, nullptr, 10);
}

constexpr const char* kEndOfCount = "belay_bench:end-of-count";

// Reads what MONITOR tells, until it tells of the end.
std::int64_t read_commands(redisContext* monitor) {
  std::int64_t count = 0;
  void* reply = nullptr;
  while (redisGetReply(monitor, &reply) == REDIS_OK) {
    const auto* told = static_cast<redisReply*>(reply);
    const std::string_view line(told->str, told->len);
    const bool end = line.find(kEndOfCount) != std::string_view::npos;
    // "1700000000.123456 [0 127.0.0.1:1234] "set" ...", or "[0 lua]" if a script calls it.
    count += end || line.find(" lua] ") < line.find('"') ? 0 : 1;
    freeReplyObject(reply);
    if (end) {
      return count;
    }
  }
  give_up("MONITOR ended early");
}

}  // namespace

void give_up(const std::string& why) {
  std::fprintf(stderr, "belay_bench: %s\n", why.c_str());
  std::exit(1);
}

void Server::tell(const std::vector<std::string>& words) {
  if (observer_.command(words).is_error()) {
    give_up("the server refused " + words.front());
  }
}

void Server::restart(bool with_data) {
  if (with_data) {
    tell({"SAVE"});
  }
  process_.restart();
  observer_ = process_.connect();
}

std::string Server::tls_url() {
  const std::string folder = process_.directory();
  if (std::system((std::string(BELAY_CERTIFICATES) + " " + folder).c_str()) != 0) {
    give_up("no certificates could be made");
  }
  tell({"CONFIG", "SET", "tls-ca-cert-file", folder + "/ca.pem"});
  tell({"CONFIG", "SET", "tls-auth-clients", "no"});
  tell({"CONFIG", "SET", "tls-cert-file", folder + "/server.pem", "tls-key-file",
        folder + "/server.key"});
  int port = process_.port() + 1;
  while (port < 65535 &&
         observer_.command({"CONFIG", "SET", "tls-port", std::to_string(port)}).is_error()) {
    ++port;
  }
  return "rediss://127.0.0.1:" + std::to_string(port) + "?tls_ca_file=" + folder + "/ca.pem";
}

std::string Server::info(const char* section) {
  const test::Reply reply = observer_.command({"INFO", section});
  if (reply.is_error()) {
    give_up("the server did not answer INFO");
  }
  return reply.text;
}

std::string Server::version() {
  std::istringstream lines(info("server"));
  std::string name = "Redis";
  std::string number;
  for (std::string line; std::getline(lines, line);) {
    const std::string value = line.substr(0, line.find_last_not_of('\r') + 1);
    if (value.starts_with("valkey_version:")) {
      return "Valkey " + value.substr(value.find(':') + 1);
    }
    if (value.starts_with("redis_version:")) {
      number = value.substr(value.find(':') + 1);
    }
  }
  return name + " " + number;
}

std::map<std::string, CommandStat> Server::command_stats() {
  constexpr std::string_view kPrefix = "cmdstat_";
  std::istringstream lines(info("commandstats"));
  std::map<std::string, CommandStat> stats;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with(kPrefix) && colon != std::string::npos) {
      stats[line.substr(kPrefix.size(), colon - kPrefix.size())] = {field_of(line, "calls"),
                                                                    field_of(line, "usec")};
    }
  }
  return stats;
}

std::int64_t Server::count_commands(const std::function<void()>& work) {
  const std::unique_ptr<redisContext, decltype(&redisFree)> monitor(
      redisConnect("127.0.0.1", port()), redisFree);
  freeReplyObject(redisCommand(monitor.get(), "MONITOR"));
  std::int64_t count = 0;
  std::thread reader([&] { count = read_commands(monitor.get()); });
  work();
  tell({"ECHO", kEndOfCount});
  reader.join();
  return count;
}

std::int64_t Server::cpu_ns() const {
  std::ifstream file("/proc/" + std::to_string(process_.pid()) + "/schedstat");
  std::int64_t ns = 0;
  file >> ns;
  return ns;
}

}  // namespace belay::bench
