#include "client/client.h"

#include <unistd.h>
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/random.h"
#include "client/fork.h"
#include "client/metric_members.h"
#include "net/tls.h"

namespace belay {

namespace {

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

// False: it was not posted within that time. Without time it does not enter the kernel, where a
// timer that has passed still puts the thread to sleep.
bool wait_until(sem_t* semaphore, Micros left) {
  if (left <= 0) {
    return sem_trywait(semaphore) == 0;
  }
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  const Micros at = until.tv_nsec / 1000 + left;
  until.tv_sec += at / kSecond;
  until.tv_nsec = at % kSecond * 1000;
  int status = 0;
  do {
    status = sem_clockwait(semaphore, CLOCK_MONOTONIC, &until);
  } while (status != 0 && errno == EINTR);
#ifdef __SANITIZE_THREAD__  // which does not know sem_clockwait
  if (status == 0) {
    __tsan_acquire(semaphore);
  }
#endif
  return status == 0;
}

// Rounded up, for poll().
int whole_ms(Micros left) {
  constexpr Micros kLongest = std::numeric_limits<int>::max();
  return static_cast<int>(
      std::clamp<Micros>((left + kMillisecond - 1) / kMillisecond, 0, kLongest));
}

// What a call whose arguments are wrong is admitted as: only a release is after a shutdown.
PendingKind admitted_as(const Client::Call& call) {
  return call.kind == BELAY_EVENT_RELEASED ? PendingKind::kRelease : PendingKind::kQuery;
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
  std::shared_ptr<SocketLink> own;  // which it reads itself, until somebody else comes
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
    const Micros next = client_.core_->next_deadline();
    const Links links = client_.core_->router().links_to_flush();
    const std::vector<Waiter*> served = std::exchange(client_.served_, {});
    client_.monitor_.unlock();
    for (const std::shared_ptr<Link>& link : links) {
      static_cast<SocketLink&>(*link).flush();
    }
    client_.loop_->arm(next);
    for (Waiter* waiter : served) {
      const std::shared_ptr<SocketLink> own = waiter->own;
      sem_post(&waiter->served);  // from now on it may be gone
      if (own != nullptr) {
        own->take_back();  // it was served in its turn, and would not know
      }
    }
  }

  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  [[nodiscard]] Micros now() const { return now_; }

 private:
  Client& client_;
  const Micros now_;
};

Result<std::unique_ptr<Client>> Client::create(Config config, Topology topology,
                                               PasswordOrigin password_origin) {
  watch_forks();
  const std::string id = random_id();
  const std::string secret = random_id();
  if (id.empty() || secret.empty()) {
    return Status(BELAY_UNAVAILABLE, "the system gave no random numbers");
  }
  const Identity identity{id, config.prefix, describe_process(config.label), secret,
                          topology.is_cluster()};
  std::unique_ptr<Client> client(
      new Client(std::move(config), std::move(password_origin), identity));
  if (Status status = client->start(std::move(topology)); !status.ok()) {
    return status;
  }
  return client;
}

Client::Client(Config config, PasswordOrigin password_origin, const Identity& identity)
    : config_(std::move(config)),
      password_origin_(std::move(password_origin)),
      generation_(fork_generation()),
      dialect_(identity, config_.request_timeout),
      log_(
          config_.log_level, [this] { loop_->post([this] { flush_log(); }); }, config_.log_events,
          [this](std::int32_t level, const std::string& message) { tell_of_log(level, message); }) {
  sem_init(&shut_down_, 0, 0);
}

Status Client::start(Topology topology) {
  const Endpoint& first = topology.first();
  if (first.tls) {
    // What is wrong with a file is better said now.
    if (const auto tls = Tls::create(config_, first); !tls.ok()) {
      return tls.status;
    }
  }
  Result<std::unique_ptr<Loop>> loop = Loop::create([this] { on_timer(); });
  if (!loop.ok()) {
    return loop.status;
  }
  loop_ = std::move(loop.value);
  const MutexLock lock(monitor_);
  Random random(std::hash<std::string>()(dialect_.me.client));
  core_ = std::make_unique<Core>(
      config_, dialect_, std::move(topology),
      [this](const Endpoint& endpoint) { return dial(endpoint); }, log_, *this, last_hold, random);
  core_->start(boot_time());
  loop_->arm(0);
  return {};
}

Client::~Client() {
  if (core_ != nullptr) {
    queue_.close();
    static_cast<void>(shutdown());  // or it has been, before
    wait_for(&shut_down_);
    visits_.wait_for_none();
    sem_t stopped;
    sem_init(&stopped, 0, 0);
    loop_->post([this, &stopped] {
      {
        const MutexLock lock(monitor_);
        core_->stop();
        core_.reset();  // while there is a loop for its links to end on
        stopped_ = true;
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
    client->core_.reset();
    client->monitor_.unlock();
  }
  static_cast<void>(client.release());
}

// A link may be let go of by its own callback, and by a thread that the loop is not.
std::shared_ptr<SocketLink> Client::dial(const Endpoint& endpoint) {
  return {new SocketLink(*loop_, kicks_, endpoint, config_, *this), [this](SocketLink* link) {
            if (!forked()) {
              loop_->post([link] { delete link; });
            }
          }};
}

Status Client::tell(const Submission& submission) {
  const Entry entry(*this);
  return submission(engine(), 0, entry.now());
}

Status Client::submit(std::int64_t tag, Call call) {
  const Entry entry(*this);
  if (engine().closing()) {
    return {BELAY_CLOSED, "the client has been shut down"};
  }
  const bool right = call.checked.ok();
  Status status =
      right ? call.submission(engine(), tag, entry.now()) : engine().admit(tag, admitted_as(call));
  const bool refused = status.code == BELAY_TAG_IN_USE || status.code == BELAY_TOO_MANY_PENDING;
  if (!refused && !(right && status.ok())) {
    on_event(ended(call.kind, tag, right ? std::move(status) : std::move(call.checked)));
    return {};
  }
  return status;
}

Event Client::call(const Call& call) {
  Waiter waiter;
  {
    const Entry entry(*this);
    const std::int64_t tag = ++last_tag_;
    Status status = begin(tag, call, &waiter, entry.now());
    if (!status.ok()) {
      return ended(call.kind, 0, std::move(status));
    }
    give_turn(waiter);
  }
  await(waiter, kNever);
  return std::move(waiter.event);
}

// Its event, which may come at once, is the waiter's. Its arguments are judged last, as in
// submit().
Status Client::begin(std::int64_t tag, const Call& call, Waiter* waiter, Micros now) {
  if (!call.checked.ok()) {
    Status status = engine().admit(tag, admitted_as(call));
    return status.ok() ? call.checked : status;
  }
  waiters_.emplace(tag, waiter);
  Status status = call.submission(engine(), tag, now);
  if (!status.ok()) {
    waiters_.erase(tag);
  }
  return status;
}

std::unique_ptr<Event> Client::within(std::int64_t tag, const Call& call, Micros patience) {
  Waiter waiter;
  Status status;
  {
    const Entry entry(*this);
    status = engine().admit(tag, admitted_as(call));
    if (status.ok()) {
      status = begin(tag, call, &waiter, entry.now());
    }
    give_turn(waiter);
  }
  if (!status.ok()) {
    return std::make_unique<Event>(ended(call.kind, tag, std::move(status)));
  }
  if (!await(waiter, patience)) {
    {
      const Entry entry(*this);
      const auto waiting = waiters_.find(tag);
      if (waiting != waiters_.end() && waiting->second == &waiter) {
        waiters_.erase(waiting);
        return nullptr;
      }
    }
    wait_for(&waiter.served);  // whoever has served it is about to say so
  }
  return std::make_unique<Event>(std::move(waiter.event));
}

void Client::give_turn(Waiter& waiter) {
  if (waiters_.size() == 1 && waiters_.begin()->second == &waiter && engine().pending() == 1) {
    waiter.own = std::static_pointer_cast<SocketLink>(core_->router().only_link());
  }
}

// Who is alone in here reads what it waits for itself, until anybody else comes. False: not served
// in time.
bool Client::await(Waiter& waiter, Micros patience) {
  const Micros until = after(boot_time(), patience);
  const std::shared_ptr<SocketLink> own = waiter.own;
  if (const auto turn = own != nullptr ? own->begin_turn() : nullptr; turn != nullptr) {
    do {
      if (sem_trywait(&waiter.served) == 0) {
        return true;
      }
      if (until != kNever && boot_time() >= until) {
        return false;
      }
    } while (turn->read(until == kNever ? -1 : whole_ms(until - boot_time())));
  }
  if (until != kNever) {
    return wait_until(&waiter.served, until - boot_time());
  }
  wait_for(&waiter.served);
  return true;
}

Status Client::shutdown() {
  const Entry entry(*this);
  return engine().shutdown(entry.now());
}

Engine::HoldView Client::look(std::int64_t hold) {
  const Entry entry(*this);
  return engine().look(hold, entry.now());
}

std::vector<std::int64_t> Client::holds_of(std::int64_t owner, const std::string& name) {
  const Entry entry(*this);
  return engine().holds_of(owner, name, entry.now());
}

std::vector<Member> Client::metrics() {
  std::vector<Member> members;
  const auto add = [&members](const char* name, std::size_t value) {
    add_metric(name, static_cast<std::int64_t>(value), &members);
  };
  const Entry entry(*this);
  add_metrics(engine().metrics(), &members);
  add("commands", engine().commands());
  add("messages_dropped", core_->router().dropped_messages());
  add("pendings", engine().pending());
  add("holds", engine().held());
  add("names", engine().names());
  add("undelivered_events", queue_.size());
  return members;
}

void Client::on_timer() {
  if (!stopped_) {
    const Entry entry(*this);
    core_->on_timer(entry.now());
  }
  flush_log();
}

void Client::flush_log() {
  if (!log_.flush()) {
    loop_->arm(boot_time() + kLogRetry);
  }
}

void Client::tell_of_log(std::int32_t level, const std::string& message) {
  Event event = ended(BELAY_EVENT_LOG, 0, Status(BELAY_OK, message));
  event.text = dialect_.me.client;
  event.level = level;
  event.time_ms = wall_ms();
  queue_.push(std::move(event));
}

// A link is let go of by the loop's thread, which closes it before: none that tells of anything is
// without a peer.

// The password anew, which may have been exchanged; outside the monitor, as a disk may be slow.
void Client::on_link_open(Link& link) {
  Result<PasswordFile> file =
      password_origin_.path.empty() ? PasswordFile() : read_again(password_origin_);
  const Entry entry(*this);
  if (!file.ok()) {
    core_->peer(link)->on_link_closed(file.status, entry.now());
    return;
  }
  take_password(std::move(file.value));
  core_->peer(link)->on_link_open(entry.now());
}

// What is to be warned of is said when it changes.
void Client::take_password(PasswordFile file) {
  if (!file.password.empty()) {
    config_.credentials.password = std::move(file.password);
  }
  if (file.warning != password_warning_) {
    password_warning_ = std::move(file.warning);
    if (!password_warning_.empty()) {
      log_.write(BELAY_LOG_WARNING, password_warning_);
    }
  }
}

// Piece by piece: what has been read may answer for thousands of holds, and other threads get in
// between.
void Client::on_link_bytes(Link& link, const void* connection, std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kPiece))) {
    const Entry entry(*this);
    if (static_cast<SocketLink&>(link).is_open(connection)) {
      core_->peer(link)->on_link_bytes(bytes.substr(0, kPiece), entry.now());
    }
  }
}

void Client::on_link_closed(Link& link, const Status& why) {
  const Entry entry(*this);
  core_->peer(link)->on_link_closed(why, entry.now());
}

// Called by the engine, inside the monitor.
void Client::on_event(Event event) {
  if (const auto found = waiters_.find(event.tag); found != waiters_.end()) {
    Waiter* waiter = found->second;
    waiters_.erase(found);
    waiter->event = std::move(event);
    if (waiter->event.tag > kMaxId) {
      waiter->event.tag = 0;  // of a blocking call
    }
    served_.push_back(waiter);
    return;
  }
  if (event.kind != BELAY_EVENT_END) {
    queue_.push(std::move(event));
    return;
  }
  queue_.end();
  sem_post(&shut_down_);
}

}  // namespace belay
