// The memory of a simulated server's Lua: small blocks from free lists.
// Not thread-safe; a LuaHost owns it and outlives its state.
#include "sim/server_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace belay::sim {

void* LuaMemory::allocate(void* memory, void* block, std::size_t old_size, std::size_t new_size) {
  auto& self = *static_cast<LuaMemory*>(memory);
  if (block == nullptr) {
    return new_size == 0 ? nullptr : self.take(new_size);
  }
  if (new_size == 0) {
    self.give(block, old_size);
    return nullptr;
  }
  if (old_size > kLargest && new_size > kLargest) {
    return std::realloc(block, new_size);
  }
  if (old_size <= kLargest && new_size <= kLargest && list_of(old_size) == list_of(new_size)) {
    return block;
  }
  void* const moved = self.take(new_size);
  if (moved != nullptr) {
    std::memcpy(moved, block, std::min(old_size, new_size));
    self.give(block, old_size);
  }
  return moved;
}

void* LuaMemory::take(std::size_t size) {
  if (size > kLargest) {
    return std::malloc(size);
  }
  Free*& head = free_[list_of(size)];
  if (head != nullptr) {
    return std::exchange(head, head->next);
  }
  const std::size_t whole = (list_of(size) + 1) * kUnit;
  if (left_ < whole) {
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kChunk));
    left_ = kChunk;
  }
  left_ -= whole;
  return chunks_.back().get() + left_;
}

void LuaMemory::give(void* block, std::size_t size) {
  if (size > kLargest) {
    std::free(block);
  } else if (size > 0) {
    Free*& head = free_[list_of(size)];
    head = new (block) Free{head};
  }
}

}  // namespace belay::sim
