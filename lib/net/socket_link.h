// A Link over TCP or a unix socket. The loop thread connects and tears down; any thread queues
// bytes in the client's monitor and flushes them outside it: whoever finds nobody writing writes
// for all. The loop thread reads, too, unless a thread that waits for a reply does so itself, which
// spares an exchange one of its three changes of thread. Where the endpoint speaks TLS, whoever
// writes seals and whoever reads opens.
#pragma once

#include <pthread.h>
#include <uv.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <string>

#include "base/config.h"
#include "base/endpoint.h"
#include "base/mutex.h"
#include "net/connector.h"
#include "net/kicks.h"
#include "net/link.h"
#include "net/loop.h"

namespace belay {

class SocketLink final : public Link {
 public:
  // `config` says how to speak TLS, where the endpoint does. All of these outlive the link.
  SocketLink(Loop& loop, Kicks& kicks, Endpoint endpoint, const Config& config, LinkEvents& events);
  ~SocketLink() override;
  SocketLink(const SocketLink&) = delete;
  SocketLink& operator=(const SocketLink&) = delete;

  void open() override;
  void send(std::string_view bytes) override;
  void close() override;
  std::string attempt() override;
  Micros patience(Micros most) override;

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

  void queue(std::string_view bytes);
  void on_connected(int fd, const std::string& why);
  // What loop and link need of a connection; null, and errno says why, where that cannot be had.
  std::shared_ptr<Socket> watch(int fd);
  void on_ready();
  void read_some();
  // Reads once and tells of it. Returns how many bytes, or minus an errno.
  ssize_t read_from(const Socket& socket);
  void open_sealed(const Socket& socket, std::string_view bytes) REQUIRES(reading_);
  void fail(const Status& why);

  void fail(const std::string& what) { fail(Status(BELAY_UNAVAILABLE, what)); }

  void fail(const Socket& socket, const std::string& what);
  void begin_probe(Socket* socket);
  void hear_probe(const Socket& socket, char first);
  void end_probe(const Socket& socket);
  // Nothing but the handshake may be read, by the loop's thread.
  static bool is_shaking(const Socket& socket);
  bool has_more() REQUIRES(mutex_);
  void seal(const Socket& socket);
  void end_turn(const Socket& socket);
  void doubt(const Socket* socket);
  void end_watch();
  void end_left() REQUIRES(mutex_);
  void watch_for(const Socket& socket) REQUIRES(mutex_);

  Loop& loop_;
  Kicks& kicks_;
  const Config& config_;
  LinkEvents& events_;
  Connector connector_;
  bool opening_ = false;
  // The server said nothing on the last connection, nor ever before, as where only one side speaks
  // TLS: the next one asks in the other way, and carries nothing of ours. Who has heard of the
  // server does not ask, as a plain one leaves that without an answer, which costs time.
  bool probes_ = false;
  std::atomic<bool> heard_{false};  // not by a probe
  // With the first connection that asks for TLS: a plain server leaves it without an answer.
  bool hurries_ = endpoint().tls;
  Watch* watch_ = nullptr;  // owned until its close callback frees it

  // Held until what was read has been told; taken before the monitor and mutex_.
  Mutex reading_;
  std::array<char, 65536> buffer_ GUARDED_BY(reading_){};

  Mutex mutex_;
  std::condition_variable writer_left_;
  std::shared_ptr<Socket> open_ GUARDED_BY(mutex_);  // null unless connected
  bool writing_ GUARDED_BY(mutex_) = false;
  // The socket took no more; the loop waits until it does.
  bool blocked_ GUARDED_BY(mutex_) = false;
  bool turn_taken_ GUARDED_BY(mutex_) = false;    // a thread is in its turn
  bool caller_reads_ GUARDED_BY(mutex_) = false;  // to it: the loop does not read
  pthread_t reader_ GUARDED_BY(mutex_){};         // that thread
  int kick_ GUARDED_BY(mutex_) = -1;              // what ends its poll
  WipingString queued_ GUARDED_BY(mutex_);        // a password passes through
  // These belong to whoever is writing, also without the lock.
  WipingString sending_;
  std::size_t sent_ = 0;  // of sending_
};

// A thread's turn to read. It belongs to that thread.
class SocketLink::Turn {
 public:
  // `kick`: one of the link's that is lent to it.
  Turn(SocketLink& link, std::shared_ptr<Socket> socket, int kick);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Waits for bytes, `timeout_ms` at most (-1: without limit), reads, and tells of them. False when
  // the turn was taken back or the connection has ended.
  bool read(int timeout_ms);

 private:
  SocketLink& link_;
  const std::shared_ptr<Socket> socket_;
  const int kick_;
};

}  // namespace belay
