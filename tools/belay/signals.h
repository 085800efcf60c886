// The signals of a running belay, read from a descriptor in the main loop instead of by handlers.
// Made before anything else, so that every later thread inherits the mask; what belay itself
// inherited is kept and given back to the child. Signals that belay inherited as ignored (nohup,
// background jobs of scripts) stay ignored.
#ifndef BELAY_TOOLS_SIGNALS_H
#define BELAY_TOOLS_SIGNALS_H

#include <csignal>
#include <initializer_list>
#include <optional>

class Signals {
 public:
  struct Arrived {
    int number;
    bool from_kernel;  // the terminal sent it, to the whole foreground process group
  };

  // Watches the signals that end a program, and SIGCHLD; ignores SIGPIPE.
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  Signals(Signals&&) = delete;
  Signals& operator=(Signals&&) = delete;
  ~Signals();

  // Watch the signals of job control also, from now on.
  void watch_job_control();
  // Watch for a new size of the terminal's window also, from now on.
  void watch_window();
  // The next signal that has arrived, without waiting.
  [[nodiscard]] std::optional<Arrived> next() const;

  // Readable while a signal waits to be read; -1 where it could not be made.
  [[nodiscard]] int fd() const { return fd_; }

  // Do what `signal` does by default, which is to stop; returns when continued.
  static void stop_self(int signal);
  // Give mask and dispositions back as they were inherited. Async-signal-safe.
  void restore() const;

 private:
  void watch(int signal);
  void watch_also(std::initializer_list<int> signals);

  int fd_ = -1;
  sigset_t watched_{};
  sigset_t inherited_mask_{};

  struct sigaction inherited_pipe_ {};

  struct sigaction inherited_child_ {};
};

#endif
