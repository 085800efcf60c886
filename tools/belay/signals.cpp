// signalfd(2) rather than handlers: nothing runs in signal context, and the siginfo tells a ^C of
// the terminal, which the child got as well, from a kill(1) meant for belay alone.
#include "signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

Signals::Signals() {
  sigemptyset(&watched_);
  pthread_sigmask(SIG_SETMASK, nullptr, &inherited_mask_);

  struct sigaction action {};

  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, &inherited_pipe_);
  // An ignored SIGCHLD would let the kernel reap the child, and its fate with it.
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, &inherited_child_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) {
    watch(signal);
  }
  pthread_sigmask(SIG_BLOCK, &watched_, nullptr);
  fd_ = signalfd(-1, &watched_, SFD_CLOEXEC | SFD_NONBLOCK);
}

Signals::~Signals() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

void Signals::watch_job_control() {
  watch_also({SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT});
}

void Signals::watch_window() {
  watch_also({SIGWINCH});
}

std::optional<Signals::Arrived> Signals::next() const {
  signalfd_siginfo info{};
  if (read(fd_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
    return std::nullopt;
  }
  return Arrived{static_cast<int>(info.ssi_signo), info.ssi_code > 0};
}

void Signals::stop_self(int signal) {
  sigset_t only{};
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
  pthread_sigmask(SIG_BLOCK, &only, nullptr);
}

void Signals::restore() const {
  sigaction(SIGPIPE, &inherited_pipe_, nullptr);
  sigaction(SIGCHLD, &inherited_child_, nullptr);
  pthread_sigmask(SIG_SETMASK, &inherited_mask_, nullptr);
}

void Signals::watch(int signal) {
  struct sigaction current {};

  sigaction(signal, nullptr, &current);
  if (current.sa_handler != SIG_IGN) {
    sigaddset(&watched_, signal);
  }
}

void Signals::watch_also(std::initializer_list<int> signals) {
  for (const int signal : signals) {
    watch(signal);
  }
  pthread_sigmask(SIG_BLOCK, &watched_, nullptr);
  signalfd(fd_, &watched_, 0);
}
