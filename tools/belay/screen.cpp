// The sequences of ECMA-48 and the private modes that xterm and all that follow it understand.
// Signals stay signals (ISIG): ^C and ^Z arrive by Signals. A frame is written in one piece over
// the one before, which does not flicker as a cleared screen would.
#include "screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "signals.h"

namespace {

constexpr WindowSize kDefaultSize{80, 24};
// The other screen, no wrapping at the right edge, no cursor; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?7l\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?7h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kClearLine = "\x1b[K";
constexpr std::string_view kClearBelow = "\x1b[J";

bool write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EAGAIN) {  // whoever shares the terminal made it non-blocking
      pollfd writable{STDOUT_FILENO, POLLOUT, 0};
      poll(&writable, 1, -1);
    } else if (written < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

bool Screen::possible() {
  const char* terminal = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): one thread so far
  const bool capable =
      terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
  return capable && isatty(STDOUT_FILENO) == 1;
}

Screen::Screen() {
  if (isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &inherited_) == 0) {
    has_modes_ = true;
    keys_fd_ = STDIN_FILENO;
  }
  enter();
}

Screen::~Screen() {
  leave();
}

void Screen::enter() {
  if (has_modes_) {
    termios keys = inherited_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_iflag &= ~static_cast<tcflag_t>(IXON);  // ^S would stop us in the midst of a frame
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
  }
  entered_ = true;
  [[maybe_unused]] const bool written = write_all(kEnter);  // the first frame will tell
}

void Screen::leave() {
  if (!entered_) {
    return;
  }
  entered_ = false;
  [[maybe_unused]] const bool written = write_all(kLeave);
  if (has_modes_) {
    tcsetattr(STDIN_FILENO, TCSADRAIN, &inherited_);
  }
}

void Screen::return_to_front() {
  if (tcgetpgrp(STDOUT_FILENO) != getpgrp()) {
    leave();
    Signals::stop_self(SIGTTOU);
  }
  enter();
}

bool Screen::show(const std::vector<std::string>& lines) {
  std::string frame(kHome);
  for (std::size_t i = 0; i < lines.size(); i++) {
    frame += i == 0 ? "" : "\r\n";
    frame += lines[i];
    frame += kClearLine;
  }
  frame += kClearBelow;
  return write_all(frame);
}

std::string Screen::keys() {
  pollfd readable{keys_fd_, POLLIN, 0};
  if (poll(&readable, 1, 0) != 1) {
    return "";
  }
  std::array<char, 64> pressed{};
  const ssize_t count = read(keys_fd_, pressed.data(), pressed.size());
  if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
    keys_fd_ = -1;  // hung up
  }
  return {pressed.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

WindowSize Screen::size() {
  winsize size{};
  const bool known =
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 && size.ws_row > 0;
  return known ? WindowSize{size.ws_col, size.ws_row} : kDefaultSize;
}
