// Between fork and exec only async-signal-safe calls are made, because the library's thread may
// have held any lock. A failed exec is reported through a close-on-exec pipe. An ended child is
// reaped only by the destructor: until then its process id, and that of its group, cannot be
// reused.
#include "child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "exit_codes.h"
#include "text.h"

namespace {

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& string : strings) {
    result.push_back(const_cast<char*>(string.c_str()));  // exec's signature; it does not write
  }
  result.push_back(nullptr);
  return result;
}

StartError os_error(const char* what) {
  return {kExitOsError, std::string(what) + ": " + std::system_category().message(errno)};
}

// In the child: become the command, or tell errno through the pipe.
[[noreturn]] void become(char* const* arguments, char* const* environment, bool own_group,
                         pid_t parent, int report_fd, const Signals& signals) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(kExitOsError);  // belay died before the line above
  }
  if (own_group) {
    setpgid(0, 0);
  }
  signals.restore();
  execvpe(arguments[0], arguments, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(report_fd, &error, sizeof error);
  _exit(kExitNotFound);
}

}  // namespace

Child::~Child() {
  if (report_fd_ >= 0) {
    close(report_fd_);
  }
  if (ended_) {
    waitpid(pid_, nullptr, WNOHANG);
  }
}

StartError Child::start(const Command& command, const Signals& signals) {
  const std::vector<char*> arguments = pointers(command.arguments);
  const std::vector<char*> environment = pointers(command.environment);
  const pid_t parent = getpid();
  int report[2] = {-1, -1};
  if (pipe2(report, O_CLOEXEC) != 0) {
    return os_error("could not make a pipe");
  }
  report_fd_ = report[0];
  program_ = command.arguments[0];
  own_group_ = command.own_group;
  pid_ = fork();
  if (pid_ == 0) {
    become(arguments.data(), environment.data(), command.own_group, parent, report[1], signals);
  }
  StartError fork_error = pid_ < 0 ? os_error("could not fork") : StartError{};
  close(report[1]);
  if (pid_ > 0 && own_group_) {
    setpgid(pid_, pid_);  // the child does so too; either may be first
  }
  return fork_error;
}

void Child::update() {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
         info.si_pid != 0) {
    stopped_by_ = info.si_code == CLD_CONTINUED ? 0 : info.si_status;
    info = {};
  }
  info = {};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      info.si_pid != 0) {
    ended_ = true;
    exit_code_ = info.si_code == CLD_EXITED ? info.si_status : kExitSignal + info.si_status;
    read_report();
  }
}

// The write end was the child's and is closed by now, so this does not wait.
void Child::read_report() {
  int error = 0;
  if (read(report_fd_, &error, sizeof error) != static_cast<ssize_t>(sizeof error)) {
    return;
  }
  exit_code_ = error == ENOENT || error == ENOTDIR ? kExitNotFound : kExitNotExecutable;
  error_ = "could not run " + in_quotes(program_) + ": " + std::system_category().message(error);
}

void Child::send(int signal) const {
  kill(own_group_ ? -pid_ : pid_, signal);
}

// kill(2) on a group succeeds where it reaches one of many, so each is asked for.
std::vector<pid_t> Child::out_of_reach() const {
  const auto unreached = [](pid_t pid) { return kill(pid, 0) != 0 && errno == EPERM; };
  std::vector<pid_t> result;
  if (!ended_ && unreached(pid_)) {
    result.push_back(pid_);
  }
  std::error_code error;
  std::filesystem::directory_iterator processes("/proc", error);
  for (; own_group_ && !error && processes != std::filesystem::directory_iterator();
       processes.increment(error)) {
    const std::string name = processes->path().filename();
    pid_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid > 0 && pid != pid_ && getpgid(pid) == pid_ && unreached(pid)) {
      result.push_back(pid);
    }
  }
  return result;
}
