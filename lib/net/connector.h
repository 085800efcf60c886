// Connects a socket to one server: resolves its name and tries its addresses, each a moment after
// the one before or as soon as that has failed, until one is connected. An address that swallows
// packets so hides no other: Happy Eyeballs (RFC 8305), in the order that getaddrinfo gives.
// Belongs to the loop's thread.
#pragma once

#include <uv.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "net/loop.h"
#include "net/resolver.h"

namespace belay {

class Connector {
 public:
  // A connected descriptor, which is the caller's from now on, or -1 and why not.
  using Done = std::function<void(int fd, const std::string& why)>;

  // `endpoint` outlives it.
  Connector(Loop& loop, const Endpoint& endpoint, Done done);
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // Begins; `done` follows, once.
  void start();
  // The same with addresses that are known.
  void race(std::vector<SocketAddress> addresses);
  // Ends every attempt: `done` does not follow.
  void stop();

 private:
  struct Attempt;
  struct LookUp;

  void resolve_name();
  void try_next();
  bool try_address(const SocketAddress& address);
  void on_ready(Attempt* attempt);
  void set_timer();
  void finish(int fd, const std::string& why);

  Loop& loop_;
  const Endpoint& endpoint_;
  const Done done_;
  std::vector<SocketAddress> addresses_;
  std::size_t next_ = 0;
  std::vector<Attempt*> attempts_;   // owned until their close callbacks free them
  uv_timer_t* timer_ = nullptr;      // likewise; null unless several addresses are to be tried
  std::shared_ptr<LookUp> look_up_;  // shared with the look-up's thread, which nobody can stop
  int error_ = 0;                    // of the latest attempt that failed
};

}  // namespace belay
