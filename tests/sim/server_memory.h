// The memory of a simulated server's Lua: small blocks from free lists, as scripts make and drop
// thousands of little strings a second. Not thread-safe; a LuaHost owns it and outlives its state.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace belay::sim {

class LuaMemory {
 public:
  // A lua_Alloc whose `memory` is a LuaMemory.
  static void* allocate(void* memory, void* block, std::size_t old_size, std::size_t new_size);

 private:
  static constexpr std::size_t kUnit = 16;
  static constexpr std::size_t kLargest = 512;  // beyond that, malloc
  static constexpr std::size_t kChunk = 65536;

  struct Free {
    Free* next;
  };

  // Which list serves blocks of that size; `size` is 1 to kLargest.
  static std::size_t list_of(std::size_t size) { return (size - 1) / kUnit; }

  void* take(std::size_t size);
  void give(void* block, std::size_t size);

  std::array<Free*, kLargest / kUnit> free_{};
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::size_t left_ = 0;  // of the last chunk
};

}  // namespace belay::sim
