// Tells a child process that it is one: handles made before fork() are the parent's.
#pragma once

#include <cstdint>

namespace belay {

// Starts to watch for forks; idempotent. Any thread.
void watch_forks();

// Another number in a child than in its parent. Any thread; touches no lock.
std::uint32_t fork_generation();

}  // namespace belay
