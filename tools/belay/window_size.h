// How large a terminal's window is. A value.
#ifndef BELAY_TOOLS_WINDOW_SIZE_H
#define BELAY_TOOLS_WINDOW_SIZE_H

#include <cstddef>

struct WindowSize {
  std::size_t columns;
  std::size_t rows;
};

#endif
