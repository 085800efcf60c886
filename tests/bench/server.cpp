#include "server.h"

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

namespace belay::bench {

namespace {

constexpr int kStartAttempts = 5;  // another process may take the port that we found
constexpr auto kStartLimit = std::chrono::seconds(20);
constexpr auto kStartPoll = std::chrono::milliseconds(10);

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || bind(fd, generic, size) != 0 || getsockname(fd, generic, &size) != 0) {
    give_up("no free port was found on the loopback");
  }
  close(fd);
  return ntohs(address.sin_port);
}

[[noreturn]] void become_server(const std::string& program, int port, const std::string& directory,
                                pid_t parent, FILE* log) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);
  }
  dup2(fileno(log), STDOUT_FILENO);
  dup2(fileno(log), STDERR_FILENO);
  const std::string number = std::to_string(port);
  execlp(program.c_str(), program.c_str(), "--port", number.c_str(), "--bind", "127.0.0.1",
         "--save", "", "--appendonly", "no", "--dir", directory.c_str(), "--daemonize", "no",
         nullptr);
  dprintf(STDERR_FILENO, "%s could not be started\n", program.c_str());
  _exit(127);
}

std::string text_of(FILE* log) {
  std::string text;
  std::array<char, 4096> part{};
  rewind(log);
  for (std::size_t size = 0; (size = fread(part.data(), 1, part.size(), log)) > 0;) {
    text.append(part.data(), size);
  }
  return text;
}

bool answers(redisContext* context) {
  auto* reply = static_cast<redisReply*>(redisCommand(context, "PING"));
  const bool pong = reply != nullptr && std::string_view(reply->str, reply->len) == "PONG";
  freeReplyObject(reply);
  return pong;
}

// A connection to the server as soon as it answers; null if it has ended or does not answer in
// time.
redisContext* wait_for(pid_t pid, int port) {
  const auto limit = std::chrono::steady_clock::now() + kStartLimit;
  while (std::chrono::steady_clock::now() < limit) {
    redisContext* context = redisConnect("127.0.0.1", port);
    if (context != nullptr && context->err == 0 && answers(context)) {
      return context;
    }
    redisFree(context);
    if (waitpid(pid, nullptr, WNOHANG) == pid) {
      return nullptr;
    }
    std::this_thread::sleep_for(kStartPoll);
  }
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return nullptr;
}

std::int64_t field_of(const std::string& line, const std::string& name) {
  const std::size_t at = line.find(name + "=");
  return at == std::string::npos ? 0
                                 : std::strtoll(line.c_str() + at + name.size() + 1, nullptr, 10);
}

}  // namespace

void give_up(const std::string& why) {
  std::fprintf(stderr, "belay_bench: %s\n", why.c_str());
  std::exit(1);
}

std::unique_ptr<Server> Server::start(const std::string& program) {
  std::string directory = "/tmp/belay-bench-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) {
    give_up("no temporary directory could be made");
  }
  std::unique_ptr<Server> server(new Server(program, directory));
  std::string log_text;
  for (int attempt = 0; attempt < kStartAttempts; ++attempt) {
    server->port_ = free_port();
    if (server->run(&log_text)) {
      return server;
    }
  }
  give_up(program + " did not start: " + log_text);
}

bool Server::run(std::string* log_text) {
  FILE* log = tmpfile();
  if (log == nullptr) {
    give_up("no temporary file could be made");
  }
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    become_server(program_, port_, directory_, parent, log);
  }
  observer_ = wait_for(pid_, port_);
  *log_text = text_of(log);
  fclose(log);
  return observer_ != nullptr;
}

void Server::end(int signal) {
  redisFree(std::exchange(observer_, nullptr));
  kill(pid_, signal);
  waitpid(pid_, nullptr, 0);
}

Server::~Server() {
  end(SIGTERM);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void Server::tell(const std::vector<std::string>& words) const {
  std::vector<const char*> argv;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    argv.push_back(word.data());
    sizes.push_back(word.size());
  }
  auto* reply = static_cast<redisReply*>(
      redisCommandArgv(observer_, static_cast<int>(argv.size()), argv.data(), sizes.data()));
  if (reply == nullptr || reply->type == REDIS_REPLY_ERROR) {
    give_up("the server refused " + words.front());
  }
  freeReplyObject(reply);
}

void Server::restart(bool with_data) {
  if (with_data) {
    tell({"SAVE"});
  }
  end(SIGKILL);
  std::string log_text;
  if (!run(&log_text)) {
    give_up(program_ + " did not start again: " + log_text);
  }
}

std::string Server::url() const {
  return "redis://127.0.0.1:" + std::to_string(port_);
}

std::string Server::info(const char* section) const {
  auto* reply = static_cast<redisReply*>(redisCommand(observer_, "INFO %s", section));
  if (reply == nullptr || reply->type == REDIS_REPLY_ERROR) {
    give_up("the server did not answer INFO");
  }
  std::string text(reply->str, reply->len);
  freeReplyObject(reply);
  return text;
}

std::string Server::version() const {
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

std::map<std::string, CommandStat> Server::command_stats() const {
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

std::int64_t Server::cpu_ns() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/schedstat");
  std::int64_t ns = 0;
  file >> ns;
  return ns;
}

}  // namespace belay::bench
