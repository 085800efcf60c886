#include "client/client.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <utility>

#include "base/random.h"
#include "client/fork.h"

namespace belay {

namespace {

// A request is repeated for the request timeout; its bytes may arrive late.
constexpr Micros kRememberRequests = 60 * kSecond;
// After which stderr is tried again that took no more lines.
constexpr Micros kLogRetry = 100 * kMillisecond;
// Of what is read, for one entry: the answers about 200 holds.
constexpr std::size_t kPiece = 2048;

// Of all clients of the process: a hold of one is unknown to the others.
std::atomic<std::int64_t> last_hold{0};

void wait_for(sem_t* semaphore) {
  while (sem_wait(semaphore) != 0 && errno == EINTR) {
  }
}

// "pid host label", as inspect shows it.
std::string describe_process(const std::string& label) {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) {
    name[0] = '?';
  }
  std::string host = name.data();
  host.resize(std::min<std::size_t>(host.size(), 64));
  std::replace(host.begin(), host.end(), ' ', '_');
  return std::to_string(getpid()) + " " + host + " " + label;
}

}  // namespace

struct Client::Waiter {
  Waiter() { sem_init(&served, 0, 0); }

  ~Waiter() { sem_destroy(&served); }

  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  sem_t served{};
  Event event;
};

// The analysis cannot follow the reference that it keeps.
class SCOPED_CAPABILITY Client::Entry {
 public:
  explicit Entry(Client& client) ACQUIRE(client.monitor_) NO_THREAD_SAFETY_ANALYSIS
      : client_(client),
        now_(boot_time()) {
    client_.monitor_.lock();
  }

  ~Entry() RELEASE() NO_THREAD_SAFETY_ANALYSIS {
    const Micros next = std::min(client_.engine_->next_deadline(), client_.node_->next_deadline());
    const std::vector<Waiter*> served = std::exchange(client_.served_, {});
    client_.monitor_.unlock();
    client_.link_->flush();
    client_.loop_->arm(next);
    for (Waiter* waiter : served) {
      sem_post(&waiter->served);
    }
    if (!served.empty()) {
      client_.link_->take_back();  // for whoever was served in its turn, and would not know
    }
  }

  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  [[nodiscard]] Micros now() const { return now_; }

 private:
  Client& client_;
  const Micros now_;
};

Client::Visit::~Visit() {
  if (client_.visits_.fetch_sub(1) == 1) {
    client_.visits_.notify_all();
  }
  pthread_setcancelstate(cancellation_, nullptr);
}

Result<std::unique_ptr<Client>> Client::create(Config config) {
  watch_forks();
  const std::string id = random_id();
  const std::string secret = random_id();
  if (id.empty() || secret.empty()) {
    return Status(BELAY_UNAVAILABLE, "the system gave no random numbers");
  }
  const std::uint64_t seed = std::hash<std::string>()(id);
  const Identity identity{id, config.prefix, describe_process(config.label), secret};
  std::unique_ptr<Client> client(new Client(std::move(config), identity, seed));
  if (Status status = client->start(); !status.ok()) {
    return status;
  }
  return client;
}

Client::Client(Config config, const Identity& identity, std::uint64_t seed)
    : config_(std::move(config)),
      generation_(fork_generation()),
      lock_(Kind::kLock, identity),
      semaphore_(Kind::kSemaphore, identity),
      latch_(identity, std::max(kRememberRequests, 2 * config_.request_timeout)),
      many_(identity),
      inbox_(identity.inbox()),
      seed_(seed),
      log_(config_.log_level, [this] { loop_->post([this] { flush_log(); }); }) {
  sem_init(&shut_down_, 0, 0);
}

Status Client::start() {
  Result<std::unique_ptr<Loop>> loop = Loop::create([this] { on_timer(); });
  if (!loop.ok()) {
    return loop.status;
  }
  loop_ = std::move(loop.value);
  link_ = std::make_unique<SocketLink>(*loop_, config_.server, *this);
  const MutexLock lock(monitor_);
  // The node's events go to the engine, which needs the node: the router between them breaks the
  // circle.
  node_ = std::make_unique<Node>(config_, inbox_, seed_, *link_, log_);
  router_ = std::make_unique<SingleRouter>(*node_);
  engine_ = std::make_unique<Engine>(config_, lock_,
                                     std::vector<const Primitive*>{&lock_, &semaphore_, &latch_},
                                     *router_, *this, last_hold, seed_ + 1);
  node_->start(*engine_, boot_time());
  loop_->arm(0);
  return {};
}

Client::~Client() {
  if (engine_ != nullptr) {
    static_cast<void>(shutdown());  // or it has been, before
    wait_for(&shut_down_);
    queue_.close();
    for (int inside = visits_.load(); inside != 0; inside = visits_.load()) {
      visits_.wait(inside);
    }
    sem_t stopped;
    sem_init(&stopped, 0, 0);
    loop_->post([this, &stopped] {
      {
        const MutexLock lock(monitor_);
        node_->stop();
      }
      log_.flush();  // what stderr does not take now is lost
      sem_post(&stopped);
    });
    wait_for(&stopped);
    sem_destroy(&stopped);
    loop_->join();  // until then its thread may still be here, and needs everything
  }
  sem_destroy(&shut_down_);
}

bool Client::forked() const {
  return generation_ != fork_generation();
}

void Client::forget(std::unique_ptr<Client> client) {
  // Whoever was inside the monitor at the fork has left both half-changed, and is not here.
  if (client->monitor_.try_lock()) {
    client->engine_.reset();
    client->node_.reset();
    client->monitor_.unlock();
  }
  static_cast<void>(client.release());
}

Status Client::submit(std::int64_t tag, const Submission& submission) {
  const Entry entry(*this);
  return submission(*engine_, tag, entry.now());
}

Event Client::call(const Submission& submission) {
  Waiter waiter;
  bool alone = false;
  {
    const Entry entry(*this);
    const std::int64_t tag = ++last_tag_;
    waiters_.emplace(tag, &waiter);
    Status status = submission(*engine_, tag, entry.now());
    if (!status.ok()) {
      waiters_.erase(tag);
      Event refusal;
      refusal.status = std::move(status);
      return refusal;
    }
    alone = waiters_.size() == 1 && engine_->pending() == 1;
  }
  await(waiter, alone);
  return std::move(waiter.event);
}

// Who is alone in here reads what it waits for itself, until anybody else comes.
void Client::await(Waiter& waiter, bool alone) {
  if (const auto turn = alone ? link_->begin_turn() : nullptr; turn != nullptr) {
    do {
      if (sem_trywait(&waiter.served) == 0) {
        return;
      }
    } while (turn->read());
  }
  wait_for(&waiter.served);
}

Status Client::shutdown() {
  const Entry entry(*this);
  return engine_->shutdown(entry.now());
}

Engine::HoldView Client::look(std::int64_t hold) {
  const Entry entry(*this);
  return engine_->look(hold, entry.now());
}

void Client::on_timer() {
  {
    const Entry entry(*this);
    node_->on_timer(entry.now());
    engine_->on_timer(entry.now());
  }
  flush_log();
}

void Client::flush_log() {
  if (!log_.flush()) {
    loop_->arm(boot_time() + kLogRetry);
  }
}

void Client::on_link_open() {
  const Entry entry(*this);
  node_->on_link_open(entry.now());
}

// Piece by piece: what has been read may answer for thousands of holds, and other threads get in
// between.
void Client::on_link_bytes(const void* connection, std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kPiece))) {
    const Entry entry(*this);
    if (link_->is_open(connection)) {
      node_->on_link_bytes(bytes.substr(0, kPiece), entry.now());
    }
  }
}

void Client::on_link_closed(const Status& why) {
  const Entry entry(*this);
  node_->on_link_closed(why, entry.now());
}

// Called by the engine, inside the monitor.
void Client::on_event(Event event) {
  if (event.tag > kMaxId) {
    const auto found = waiters_.find(event.tag);
    Waiter* waiter = found->second;
    waiters_.erase(found);
    waiter->event = std::move(event);
    waiter->event.tag = 0;
    served_.push_back(waiter);
    return;
  }
  const bool last = event.kind == BELAY_EVENT_SHUTDOWN;
  queue_.push(std::move(event));
  if (last) {
    sem_post(&shut_down_);
  }
}

}  // namespace belay
