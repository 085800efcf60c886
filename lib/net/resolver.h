// Names to addresses without blocking the loop and without libuv's thread pool, which would stay in
// the host for ever.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace belay {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

// The address that `host` spells out, or none if it is a name.
std::vector<SocketAddress> literal_address(const std::string& host, std::uint16_t port);

// Resolves `host` on a short-lived thread of its own, which calls `done` with the addresses, or
// none and why. Nobody can stop a look-up: `done` must own what it touches.
void resolve(const std::string& host, std::uint16_t port,
             std::function<void(std::vector<SocketAddress>, std::string)> done);

}  // namespace belay
