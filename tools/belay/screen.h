// A terminal taken over: its other screen, single keys without echo, no cursor. Used by one thread.
// Whoever owns it must see to it that the destructor runs, or the terminal stays as it is.
#ifndef BELAY_TOOLS_SCREEN_H
#define BELAY_TOOLS_SCREEN_H

#include <termios.h>

#include <string>
#include <vector>

#include "window_size.h"

class Screen {
 public:
  // Whether stdout is a terminal that can be taken over.
  static bool possible();

  Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  Screen(Screen&&) = delete;
  Screen& operator=(Screen&&) = delete;
  ~Screen();

  // Take over, or take over again what somebody else has changed. In the background, the terminal
  // stops the process here, unless SIGTTOU is blocked.
  void enter();
  // Give everything back.
  void leave();
  // Take over again after a stop. Continued in the background, the process stops again until it is
  // brought to the front.
  void return_to_front();
  // False where it cannot be written any more.
  [[nodiscard]] bool show(const std::vector<std::string>& lines);
  // The keys that were pressed, without waiting.
  [[nodiscard]] std::string keys();

  [[nodiscard]] static WindowSize size();

  // Readable while there are keys; -1 where there are none to come.
  [[nodiscard]] int keys_fd() const { return keys_fd_; }

 private:
  int keys_fd_ = -1;
  bool entered_ = false;
  bool has_modes_ = false;  // stdin is a terminal
  termios inherited_{};     // its modes
};

#endif
