// A Link over TCP or a unix socket. The loop thread connects, reads and closes; any thread queues
// bytes in the client's monitor and flushes them outside it: whoever finds nobody writing writes
// for all.
#pragma once

#include <uv.h>

#include <condition_variable>
#include <memory>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/mutex.h"
#include "net/link.h"
#include "net/loop.h"
#include "net/resolver.h"

namespace belay {

class SocketLink final : public Link {
 public:
  SocketLink(Loop& loop, ServerAddress server, LinkEvents& events);
  ~SocketLink() override;
  SocketLink(const SocketLink&) = delete;
  SocketLink& operator=(const SocketLink&) = delete;

  void open() override;
  void send(std::string_view bytes) override;
  void close() override;

  // Writes what is queued, unless another thread is at it. Any thread; never blocks.
  void flush();

 private:
  struct Watch;
  struct LookUp;

  void begin();
  void connect_next();
  bool connect_to(const SocketAddress& address);
  void on_resolved(std::vector<SocketAddress> addresses, const std::string& why);
  void on_ready(int status, int events);
  void finish_connect();
  void read_some();
  void fail(const std::string& what);
  void watch(int events);
  void update_watch();

  Loop& loop_;
  const ServerAddress server_;
  LinkEvents& events_;
  std::vector<SocketAddress> addresses_;
  std::size_t next_address_ = 0;
  bool connecting_ = false;
  Watch* watch_ = nullptr;  // owned until its close callback frees it
  bool opening_ = false;
  std::shared_ptr<LookUp> look_up_;  // shared with the look-up's thread, which nobody can stop

  Mutex mutex_;
  std::condition_variable writer_left_;
  int fd_ GUARDED_BY(mutex_) = -1;
  bool writing_ GUARDED_BY(mutex_) = false;
  // The socket took no more; the loop waits until it does.
  bool blocked_ GUARDED_BY(mutex_) = false;
  std::string queued_ GUARDED_BY(mutex_);
  // These belong to whoever is writing, also without the lock.
  std::string sending_;
  std::size_t sent_ = 0;  // of sending_
};

}  // namespace belay
