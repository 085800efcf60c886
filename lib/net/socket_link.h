// A Link over TCP or a unix socket. The loop thread connects and tears down; any thread queues
// bytes in the client's monitor and flushes them outside it: whoever finds nobody writing writes
// for all. The loop thread reads, too, unless a thread that waits for a reply does so itself, which
// spares an exchange one of its three changes of thread.
#pragma once

#include <pthread.h>
#include <uv.h>

#include <array>
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
  // `server` outlives it.
  SocketLink(Loop& loop, const ServerAddress& server, LinkEvents& events);
  ~SocketLink() override;
  SocketLink(const SocketLink&) = delete;
  SocketLink& operator=(const SocketLink&) = delete;

  void open() override;
  void send(std::string_view bytes) override;
  void close() override;

  // Writes what is queued, unless another thread is at it; takes a turn back. Any thread; never
  // blocks.
  void flush();

  class Turn;
  // Leaves reading to the caller, until the turn ends or is taken back. Null where there is no
  // connection, or another thread has the turn. Any thread, outside the monitor.
  std::unique_ptr<Turn> begin_turn();
  // Makes the loop thread read again, and whoever else has the turn go. Any thread.
  void take_back();
  // Whether that connection is still the one. For whoever is in the monitor.
  [[nodiscard]] bool is_open(const void* connection);

 private:
  struct Socket;
  struct Watch;
  struct LookUp;

  void begin();
  void connect_next();
  bool connect_to(const SocketAddress& address);
  void on_resolved(std::vector<SocketAddress> addresses, const std::string& why);
  void on_ready();
  void finish_connect();
  void read_some();
  // Reads once and tells of it. Returns how many bytes, or minus an errno.
  ssize_t read_from(const Socket& socket);
  void fail(const std::string& what);
  void end_turn(const Socket& socket);
  void end_watch();
  void end_left() REQUIRES(mutex_);
  void watch_for(const Socket& socket) REQUIRES(mutex_);

  Loop& loop_;
  const ServerAddress& server_;
  LinkEvents& events_;
  std::vector<SocketAddress> addresses_;
  std::size_t next_address_ = 0;
  bool connecting_ = false;
  Watch* watch_ = nullptr;  // owned until its close callback frees it
  bool opening_ = false;
  std::shared_ptr<LookUp> look_up_;  // shared with the look-up's thread, which nobody can stop

  // Held until what was read has been told; taken before the monitor and mutex_.
  Mutex reading_;
  std::array<char, 65536> buffer_ GUARDED_BY(reading_){};

  Mutex mutex_;
  std::condition_variable writer_left_;
  std::shared_ptr<Socket> open_ GUARDED_BY(mutex_);  // null unless connected
  bool writing_ GUARDED_BY(mutex_) = false;
  // The socket took no more; the loop waits until it does.
  bool blocked_ GUARDED_BY(mutex_) = false;
  bool turn_taken_ GUARDED_BY(mutex_) = false;  // a thread is in its turn
  bool left_ GUARDED_BY(mutex_) = false;        // to it: the loop does not read
  pthread_t reader_ GUARDED_BY(mutex_){};       // that thread
  WipingString queued_ GUARDED_BY(mutex_);      // a password passes through
  // These belong to whoever is writing, also without the lock.
  WipingString sending_;
  std::size_t sent_ = 0;  // of sending_
};

// A thread's turn to read. It belongs to that thread.
class SocketLink::Turn {
 public:
  Turn(SocketLink& link, std::shared_ptr<Socket> socket);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Waits for bytes, `timeout_ms` at most (-1: without limit), reads, and tells of them. False when
  // the turn was taken back or the connection has ended.
  bool read(int timeout_ms);

 private:
  SocketLink& link_;
  const std::shared_ptr<Socket> socket_;
};

}  // namespace belay
