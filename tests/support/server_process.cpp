// A real redis-server or valkey-server as a child process, in a temporary directory of its own.
// Owned by a test; one thread.
#include "support/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "support/eventually.h"

namespace belay::test {
namespace {

constexpr int kStartAttempts = 5;
constexpr std::chrono::milliseconds kStartLimit(10000);
constexpr std::chrono::milliseconds kStopLimit(5000);
constexpr int kExecFailed = 127;
constexpr const char* kPrograms[] = {"redis-server", "redis-server-6.2", "valkey-server"};

// "" if there is none.
std::string find_in_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream directories(path != nullptr ? path : "/usr/bin:/usr/local/bin");
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string candidate = directory + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return {};
}

// A port that nobody used a moment ago; 0 if there is none.
int free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool ok = bind(probe, any, size) == 0 && getsockname(probe, any, &size) == 0;
  close(probe);
  return ok ? ntohs(address.sin_port) : 0;
}

// In the child, where only what is safe after a fork of a threaded program may be called.
[[noreturn]] void become_server(const char* program, char* const* argv, const char* log,
                                pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int in = open("/dev/null", O_RDONLY);
  if (getppid() != parent || out < 0 || in < 0) {
    _exit(kExecFailed);
  }
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv(program, argv);
  _exit(kExecFailed);
}

}  // namespace

ServerProcess::ServerProcess(Kind kind, Options options)
    : kind_(kind),
      options_(std::move(options)),
      program_(find_in_path(kPrograms[static_cast<int>(kind)])) {
  std::string pattern = std::filesystem::temp_directory_path().string() + "/belay-server-XXXXXX";
  if (program_.empty() || mkdtemp(pattern.data()) == nullptr) {
    give_up("no server program in PATH, or no temporary directory");
  }
  directory_ = pattern;
  for (int attempt = 0; attempt < kStartAttempts; ++attempt) {
    port_ = options_.port != 0 ? options_.port : free_port();
    if (start()) {
      return;
    }
  }
  give_up("the server did not start:\n" + log());
}

ServerProcess::~ServerProcess() {
  kill();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string ServerProcess::url() const {
  return "redis://127.0.0.1:" + std::to_string(port_);
}

std::string ServerProcess::unix_url() const {
  return "unix://" + socket_path();
}

std::string ServerProcess::log() const {
  std::ifstream file(directory_ + "/log");
  return {std::istreambuf_iterator<char>(file), {}};
}

Redis ServerProcess::connect() const {
  return Redis::unix_socket(socket_path(), options_.password);
}

void ServerProcess::pause() const {
  if (pid_ > 0) {
    ::kill(pid_, SIGSTOP);
  }
}

void ServerProcess::resume() const {
  if (pid_ > 0) {
    ::kill(pid_, SIGCONT);
  }
}

void ServerProcess::kill() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
}

void ServerProcess::stop() {
  resume();
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    eventually([this] { return ended(); }, kStopLimit);
  }
  kill();
}

void ServerProcess::restart(bool keep_data) {
  resume();
  const std::string dump = directory_ + "/dump.rdb";
  std::error_code ignored;
  std::filesystem::remove(dump, ignored);
  if (keep_data && pid_ > 0 && connect().command({"SAVE"}).is_error()) {
    give_up("the server could not save its data:\n" + log());
  }
  kill();
  for (int attempt = 0; attempt < kStartAttempts; ++attempt) {
    if (start()) {
      return;
    }
  }
  give_up("the server did not start again:\n" + log());
}

bool ServerProcess::start() {
  spawn();
  if (wait_until_ready()) {
    return true;
  }
  kill();
  return false;
}

void ServerProcess::spawn() {
  std::vector<std::string> args{program_,
                                "--port",
                                std::to_string(port_),
                                "--bind",
                                "127.0.0.1",
                                "--unixsocket",
                                socket_path(),
                                "--dir",
                                directory_,
                                "--save",
                                "",
                                "--appendonly",
                                "no",
                                "--daemonize",
                                "no"};
  if (!options_.password.empty()) {
    args.insert(args.end(), {"--requirepass", options_.password});
  }
  args.insert(args.end(), options_.args.begin(), options_.args.end());
  std::vector<char*> argv;
  for (std::string& arg : args) {
    argv.push_back(arg.data());
  }
  argv.push_back(nullptr);
  const std::string log_path = directory_ + "/log";
  std::error_code ignored;
  std::filesystem::remove(socket_path(), ignored);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    become_server(program_.c_str(), argv.data(), log_path.c_str(), parent);
  }
  if (pid_ < 0) {
    give_up("fork failed");
  }
}

bool ServerProcess::wait_until_ready() {
  const auto answers = [this] {
    const bool there = access(socket_path().c_str(), F_OK) == 0;
    return there && connect().command({"PING"}).canonical() == "+PONG";
  };
  bool ready = false;
  eventually(
      [&] {
        ready = answers();
        return ready || ended();
      },
      kStartLimit);
  return ready && !ended();
}

bool ServerProcess::ended() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) {
    pid_ = -1;
  }
  return pid_ < 0;
}

void ServerProcess::give_up(const std::string& why) const {
  std::fprintf(stderr, "%s: %s\n", program_.c_str(), why.c_str());
  std::abort();
}

}  // namespace belay::test
