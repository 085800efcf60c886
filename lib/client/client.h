// A client: runs a core on a loop, with a queue of events and the callers that wait. Its monitor
// (one mutex) guards the core; application threads and the loop thread both enter it. Owned by the
// handle of the C API.
#pragma once

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
#include "base/password_file.h"
#include "client/event_queue.h"
#include "client/visits.h"
#include "core/core.h"
#include "dialect/native.h"
#include "net/loop.h"
#include "net/socket_link.h"
#include "route/topology.h"

namespace belay {

class Client final : public LinkEvents, public EngineEvents {
 public:
  // `password_origin`: where the password of `config` is read anew for each connection.
  static Result<std::unique_ptr<Client>> create(Config config, Topology topology,
                                                PasswordOrigin password_origin);

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

  const NativeDialect& dialect() const { return dialect_; }

  RequestNumber next_request() { return {++last_request_}; }

  const Config& config() const { return config_; }

  void log(std::int32_t level, const std::string& message) { log_.write(level, message); }

  Visits& visits() { return visits_; }

 private:
  // A thread that waits for its event.
  struct Waiter;
  // The monitor, entered: leaving it flushes, arms the timer and wakes whom the engine served.
  class Entry;

  Client(Config config, PasswordOrigin password_origin, const Identity& identity);

  Status start(Topology topology);

  Engine& engine() REQUIRES(monitor_) { return core_->engine(); }

  // In the caller's hands; its last user leaves the end of it to the loop's thread.
  std::shared_ptr<SocketLink> dial(const Endpoint& endpoint);

  void on_timer();
  void flush_log();
  void tell_of_log(std::int32_t level, const std::string& message);
  void on_link_open(Link& link) override;
  void take_password(PasswordFile file) REQUIRES(monitor_);
  void on_link_bytes(Link& link, const void* connection, std::string_view bytes) override;
  Status begin(std::int64_t tag, const Call& call, Waiter* waiter, Micros now) REQUIRES(monitor_);
  // Where its answer comes if it is alone in here, so that it reads that itself.
  void give_turn(Waiter& waiter) REQUIRES(monitor_);
  bool await(Waiter& waiter, Micros patience);
  void on_link_closed(Link& link, const Status& why) override;
  void on_event(Event event) override REQUIRES(monitor_);

  std::size_t undelivered() const override { return queue_.completions(); }

  Config config_;  // constant but for the password, which is the monitor's
  const PasswordOrigin password_origin_;
  const std::uint32_t generation_;
  const NativeDialect dialect_;
  std::atomic<std::int64_t> last_request_{0};
  Log log_;
  std::unique_ptr<Loop> loop_;
  Kicks kicks_;
  EventQueue queue_;
  Visits visits_;

  Mutex monitor_;
  std::unique_ptr<Core> core_ PT_GUARDED_BY(monitor_);
  std::unordered_map<std::int64_t, Waiter*> waiters_ GUARDED_BY(monitor_);
  std::vector<Waiter*> served_ GUARDED_BY(monitor_);
  std::string password_warning_ GUARDED_BY(monitor_);  // the latest
  // Of waiting threads: beyond what callers may choose.
  std::int64_t last_tag_ GUARDED_BY(monitor_) = kMaxId;
  bool stopped_ = false;  // for the loop's thread: there is no core any more
  sem_t shut_down_{};     // posted when the engine has closed
};

}  // namespace belay
