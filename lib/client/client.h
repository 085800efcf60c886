// A client: owns the loop, the connection, the engine and the queue of events, and is the only
// place that wires them together. Its monitor (one mutex) guards node and engine; application
// threads and the loop thread both enter it. Owned by the handle of the C API.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/config.h"
#include "base/log.h"
#include "base/mutex.h"
#include "client/event_queue.h"
#include "engine/engine.h"
#include "net/loop.h"
#include "net/socket_link.h"
#include "primitive/latch.h"
#include "primitive/lock.h"
#include "primitive/many.h"
#include "route/node.h"
#include "route/router.h"

namespace belay {

class Client final : public LinkEvents, public EngineEvents {
 public:
  static Result<std::unique_ptr<Client>> create(Config config);

  // Shuts down and waits for calls that are still inside. In a forked child: see forked().
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // True in a child of the process that made it. Nothing may then be called but forget().
  bool forked() const;
  // In a forked child, instead of destruction: frees the bulk of the memory. What another thread of
  // the parent may have had in its hands at the fork is left alone.
  static void forget(std::unique_ptr<Client> client);

  // What an engine call is to do; the time and the tag are the client's to give.
  using Submission = std::function<Status(Engine&, std::int64_t tag, Micros now)>;

  // A call of the application: the kind of its event, whether its arguments are right, and what it
  // is to do.
  struct Call {
    std::int32_t kind;
    Status checked;
    Submission submission;
  };

  // Submits under the caller's tag. Another status than OK: no event follows.
  Status submit(std::int64_t tag, Call call);
  // Submits and waits for the event; a refusal comes as an event, too.
  Event call(const Call& call);
  // Submits under the caller's tag and waits for the event, up to `patience`; null: the queue
  // brings it. A refusal comes as an event.
  std::unique_ptr<Event> within(std::int64_t tag, const Call& call, Micros patience);
  // What has no event.
  Status tell(const Submission& submission);
  Status shutdown();
  Engine::HoldView look(std::int64_t hold);

  // What it has done, and what it has, as the members of an event.
  std::vector<Member> metrics();

  std::vector<std::int64_t> holds_of(std::int64_t owner, const std::string& name);

  std::unique_ptr<Event> next(std::int64_t timeout_ms) { return queue_.next(timeout_ms); }

  int fd() { return queue_.fd(); }

  bool set_wakeup(int socket) { return queue_.set_wakeup(socket); }

  const Primitive& primitive(Kind kind) const {
    switch (kind) {
      case Kind::kSemaphore:
        return semaphore_;
      case Kind::kLatch:
        return latch_;
      default:
        return lock_;
    }
  }

  const Names& names() const { return lock_; }

  const std::string& id() const { return id_; }

  const HeldPrimitive& semaphore() const { return semaphore_; }

  const LatchPrimitive& latch() const { return latch_; }

  RequestNumber next_request() { return {++last_request_}; }

  const ManyNames& many() const { return many_; }

  const Config& config() const { return config_; }

  void log(std::int32_t level, const std::string& message) { log_.write(level, message); }

  // Counts the calls that are inside, so that destruction can wait for them. A call is no
  // cancellation point: a thread that is cancelled within it ends at its next one after the call.
  class Visit {
   public:
    explicit Visit(Client& client) : client_(client) {
      pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation_);
      client_.visits_.fetch_add(1);
    }

    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Client& client_;
    int cancellation_ = 0;
  };

 private:
  // A thread that waits for its event.
  struct Waiter;
  // The monitor, entered: leaving it flushes, arms the timer and wakes whom the engine served.
  class Entry;

  Client(Config config, const Identity& identity, std::uint64_t seed);

  Status start();
  void on_timer();
  void flush_log();
  void tell_of_log(std::int32_t level, const std::string& message);
  void on_link_open() override;
  void on_link_bytes(const void* connection, std::string_view bytes) override;
  Status begin(std::int64_t tag, const Call& call, Waiter* waiter, Micros now) REQUIRES(monitor_);
  bool await(Waiter& waiter, bool alone, Micros patience);
  void on_link_closed(const Status& why) override;
  void on_event(Event event) override REQUIRES(monitor_);

  std::size_t undelivered() const override { return queue_.completions(); }

  const Config config_;
  const std::uint32_t generation_;
  const std::string id_;
  const HeldPrimitive lock_;
  const HeldPrimitive semaphore_;
  const LatchPrimitive latch_;
  const ManyLocks many_;
  std::atomic<std::int64_t> last_request_{0};
  const std::string inbox_;
  const std::uint64_t seed_;
  Log log_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<SocketLink> link_;
  EventQueue queue_;
  std::atomic<int> visits_{0};

  Mutex monitor_;
  std::unique_ptr<Node> node_ PT_GUARDED_BY(monitor_);
  std::unique_ptr<SingleRouter> router_ PT_GUARDED_BY(monitor_);
  std::unique_ptr<Engine> engine_ PT_GUARDED_BY(monitor_);
  std::unordered_map<std::int64_t, Waiter*> waiters_ GUARDED_BY(monitor_);
  std::vector<Waiter*> served_ GUARDED_BY(monitor_);
  // Of waiting threads: beyond what callers may choose.
  std::int64_t last_tag_ GUARDED_BY(monitor_) = kMaxId;
  sem_t shut_down_{};  // posted when the engine has closed
};

}  // namespace belay
