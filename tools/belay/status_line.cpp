// Carriage return and blanks only, so that it works on any terminal. A line that would wrap could
// not be taken back and is cut.
#include "status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "text.h"

namespace {

constexpr std::size_t kDefaultColumns = 80;

std::size_t terminal_columns() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : kDefaultColumns;
}

}  // namespace

StatusLine::StatusLine() : enabled_(isatty(STDERR_FILENO) == 1) {}

void StatusLine::show(const std::string& text) {
  if (!enabled_ || tcgetpgrp(STDERR_FILENO) != getpgrp()) {
    return;
  }
  const std::string cut = cut_to_width(text, terminal_columns() - 1);
  write_over(cut, width(cut));
}

void StatusLine::clear() {
  if (shown_ != 0) {
    write_over("", 0);
  }
}

void StatusLine::write_over(const std::string& text, std::size_t columns) {
  const std::size_t rest = shown_ > columns ? shown_ - columns : 0;
  std::string bytes = "\r" + text + std::string(rest, ' ');
  if (columns == 0) {
    bytes += "\r";
  }
  shown_ = columns;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, bytes.data(), bytes.size());
}
