// One line on a terminal's stderr that is written over again and again, and leaves nothing behind.
// Nothing is shown where stderr is no terminal or while belay is in its background.
#ifndef BELAY_TOOLS_STATUS_LINE_H
#define BELAY_TOOLS_STATUS_LINE_H

#include <cstddef>
#include <string>

class StatusLine {
 public:
  StatusLine();
  void show(const std::string& text);
  void clear();

  [[nodiscard]] bool enabled() const { return enabled_; }

 private:
  void write_over(const std::string& text, std::size_t columns);

  bool enabled_;
  std::size_t shown_ = 0;  // columns in use
};

#endif
