// How much of this process there is.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace belay {

inline std::ptrdiff_t count_entries(const char* directory) {
  return std::distance(std::filesystem::directory_iterator(directory),
                       std::filesystem::directory_iterator());
}

inline std::ptrdiff_t open_descriptors() {
  return count_entries("/proc/self/fd");
}

inline std::ptrdiff_t running_threads() {
  return count_entries("/proc/self/task");
}

}  // namespace belay
