#include "net/socket_link.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "net/stdio_guard.h"
#include "net/tls.h"

namespace belay {

namespace {

std::string error_text(int error) {
  return uv_strerror(uv_translate_sys_error(error));
}

// What was sent, or never will be, leaves no password behind.
void clear(WipingString* bytes) {
  explicit_bzero(bytes->data(), bytes->size());
  bytes->clear();
}

}  // namespace

// Kept by whoever uses it, so that its descriptors name nothing else meanwhile.
struct SocketLink::Socket {
  explicit Socket(int connected)
      : fd(connected), readiness(above_stdio([] { return epoll_create1(EPOLL_CLOEXEC); })) {}

  ~Socket() {
    ::close(fd);
    if (readiness >= 0) {
      ::close(readiness);
    }
  }

  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  const int fd;
  std::unique_ptr<Tls> tls;          // null where bytes go as they are
  bool is_probe = false;             // only asks whether the port speaks TLS, or does not
  mutable bool is_answered = false;  // a probe, so that it does
  // What the loop watches in its place: unlike a handle of libuv's, any thread may change for what.
  const int readiness;
};

// The loop's handle of one socket; outlives the link's interest in it until libuv has let go.
struct SocketLink::Watch {
  uv_poll_t poll{};
  std::shared_ptr<Socket> socket;
};

SocketLink::SocketLink(Loop& loop, Kicks& kicks, Endpoint endpoint, const Config& config,
                       LinkEvents& events)
    : Link(std::move(endpoint)),
      loop_(loop),
      kicks_(kicks),
      config_(config),
      events_(events),
      connector_(loop, this->endpoint(),
                 [this](int fd, const std::string& why) { on_connected(fd, why); }) {}

SocketLink::~SocketLink() {
  SocketLink::close();
}

void SocketLink::open() {
  close();
  opening_ = true;
  loop_.post([this] {
    if (std::exchange(opening_, false)) {
      connector_.start();
    }
  });
}

void SocketLink::on_connected(int fd, const std::string& why) {
  if (fd < 0) {
    fail(why);
    return;
  }
  const std::shared_ptr<Socket> socket = watch(fd);
  if (socket == nullptr) {
    fail("connection to " + endpoint().display() + " failed: " + error_text(errno));
    return;
  }
  if (std::exchange(probes_, false)) {
    begin_probe(socket.get());
  } else if (endpoint().tls) {
    // The files anew, which may have been exchanged.
    Result<std::unique_ptr<Tls>> tls = Tls::create(config_, endpoint());
    if (!tls.ok()) {
      const bool is_wrong = tls.status.code == BELAY_INVALID_ARGUMENT;
      fail(is_wrong ? Status(BELAY_AUTH_FAILED, tls.status.message) : tls.status);
      return;
    }
    socket->tls = std::move(tls.value);
  }
  {
    const MutexLock lock(mutex_);
    open_ = socket;
    watch_for(*open_);
  }
  if (socket->tls != nullptr) {
    const MutexLock lock(reading_);
    open_sealed(*socket, {});  // begins the handshake
  } else if (socket->is_probe) {
    queue("PING\r\n");
    flush();
  } else {
    events_.on_link_open(*this);
  }
}

std::string SocketLink::attempt() {
  const MutexLock lock(mutex_);
  return open_ != nullptr && endpoint().tls && is_shaking(*open_)
             ? "TLS handshake with " + endpoint().display()
             : Link::attempt();
}

// A server that may not speak TLS has half the time: the other half is for the probe.
Micros SocketLink::patience(Micros most) {
  const bool hurries = std::exchange(hurries_, false) || probes_;
  return hurries ? most / 2 : most;
}

bool SocketLink::is_shaking(const Socket& socket) {
  return socket.is_probe || (socket.tls != nullptr && socket.tls->is_shaking());
}

std::shared_ptr<SocketLink::Socket> SocketLink::watch(int fd) {
  auto socket = std::make_shared<Socket>(fd);
  epoll_event nothing{};
  if (socket->readiness < 0 ||
      epoll_ctl(socket->readiness, EPOLL_CTL_ADD, socket->fd, &nothing) != 0) {
    return nullptr;
  }
  auto watch = std::make_unique<Watch>();
  if (const int error = uv_poll_init(loop_.uv(), &watch->poll, socket->readiness); error != 0) {
    errno = -error;
    return nullptr;
  }
  watch->socket = socket;
  watch->poll.data = this;
  uv_poll_start(&watch->poll, UV_READABLE, [](uv_poll_t* poll, int, int) {
    static_cast<SocketLink*>(poll->data)->on_ready();
  });
  watch_ = watch.release();
  return socket;
}

// Sets what makes the loop look at the socket, beside its end.
void SocketLink::watch_for(const Socket& socket) {
  epoll_event events{};
  events.events = (caller_reads_ ? 0U : EPOLLIN) | (blocked_ ? EPOLLOUT : 0U);
  epoll_ctl(socket.readiness, EPOLL_CTL_MOD, socket.fd, &events);
}

void SocketLink::on_ready() {
  bool blocked = false;
  {
    const MutexLock lock(mutex_);
    if (open_ != watch_->socket) {
      return;  // another thread has closed it: the end of the watch is on its way
    }
    blocked = std::exchange(blocked_, false);
    if (blocked) {
      watch_for(*open_);
    }
  }
  if (blocked) {
    flush();
  }
  read_some();
}

void SocketLink::read_some() {
  const std::shared_ptr<Socket> socket = watch_->socket;
  const ssize_t size = read_from(*socket);
  if (size == 0) {
    fail(*socket, "was closed by the server");
  } else if (size < 0 && size != -EAGAIN && size != -EINTR) {
    fail(*socket, "broke: " + error_text(static_cast<int>(-size)));
  }
}

// What TLS found is why its connection has ended, however that showed.
void SocketLink::fail(const Socket& socket, const std::string& what) {
  if (socket.is_probe) {
    end_probe(socket);
    return;
  }
  probes_ = kHasTls && endpoint().path.empty() && !heard_;
  const Status trouble = socket.tls == nullptr ? Status() : socket.tls->trouble();
  if (trouble.ok()) {
    fail("connection to " + endpoint().display() + " " + what +
         (is_shaking(socket) ? " during the TLS handshake" : ""));
  } else {
    fail(trouble);
  }
}

void SocketLink::begin_probe(Socket* socket) {
  if (!endpoint().tls) {
    socket->tls = std::move(Tls::create(Config(), endpoint()).value);
  }
  socket->is_probe = endpoint().tls || socket->tls != nullptr;
}

void SocketLink::hear_probe(const Socket& socket, char first) {
  const bool fits = endpoint().tls ? first == '+' || first == '-' : Tls::may_begin(first);
  socket.is_answered = socket.is_answered || fits;
  shutdown(socket.fd, SHUT_RDWR);  // that was enough
}

// A server that answered is asked again in the same way, in case it changes.
void SocketLink::end_probe(const Socket& socket) {
  probes_ = socket.is_answered;
  const std::string server = endpoint().display();
  if (probes_) {
    fail(Status(BELAY_UNSUPPORTED_SERVER, server + (endpoint().tls ? kSpeaksNoTls : kSpeaksTls)));
  } else {
    fail("connection to " + server + " was closed by the server");
  }
}

ssize_t SocketLink::read_from(const Socket& socket) {
  const MutexLock lock(reading_);
  const ssize_t size = recv(socket.fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (size > 0) {
    const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(size));
    heard_.store(heard_.load(std::memory_order_relaxed) || !socket.is_probe,
                 std::memory_order_relaxed);
    if (socket.is_probe) {
      hear_probe(socket, bytes.front());
    } else if (socket.tls == nullptr) {
      events_.on_link_bytes(*this, &socket, bytes);
    } else {
      open_sealed(socket, bytes);
    }
  }
  return size >= 0 ? size : -errno;
}

// Tells of all that can be opened: what TLS kept back, nobody would be woken for.
void SocketLink::open_sealed(const Socket& socket, std::string_view bytes) {
  Tls& tls = *socket.tls;
  tls.feed(bytes);
  if (tls.shake()) {
    events_.on_link_open(*this);
  }
  for (std::string_view opened = tls.open(); !opened.empty(); opened = tls.open()) {
    events_.on_link_bytes(*this, &socket, opened);
  }
  flush();  // what TLS says by itself
  if (tls.has_ended()) {
    shutdown(socket.fd, SHUT_RDWR);  // so that the loop finds its end, whoever has read
  }
}

void SocketLink::fail(const Status& why) {
  SocketLink::close();
  events_.on_link_closed(*this, why);
}

void SocketLink::close() {
  std::shared_ptr<Socket> socket;
  {
    MutexLock lock(mutex_);
    socket = std::exchange(open_, nullptr);
    caller_reads_ = false;  // before the lock is let go below: what is taken back must be open
    if (socket != nullptr) {
      shutdown(socket->fd, SHUT_RDWR);
    }
    writer_left_.wait(lock.native(), [this]() REQUIRES(mutex_) { return !writing_; });
    clear(&queued_);
    clear(&sending_);
    sent_ = 0;
    blocked_ = false;
  }
  if (loop_.is_this_thread()) {
    doubt(socket.get());
    end_watch();
  } else if (socket != nullptr) {
    loop_.post([this, socket] {
      if (watch_ != nullptr && watch_->socket == socket) {
        end_watch();
      }
    });
  }
}

// What it means that a connection is given up now: a plain server waits for more of what it got.
void SocketLink::doubt(const Socket* socket) {
  const bool is_silent = socket != nullptr && endpoint().tls && !heard_;
  probes_ = probes_ || (is_silent && !socket->is_probe);
}

// What of a connection or an attempt belongs to the loop.
void SocketLink::end_watch() {
  opening_ = false;
  connector_.stop();
  if (watch_ == nullptr) {
    return;
  }
  Watch* watch = std::exchange(watch_, nullptr);
  watch->poll.data = watch;
  uv_poll_stop(&watch->poll);
  uv_close(reinterpret_cast<uv_handle_t*>(&watch->poll), [](uv_handle_t* handle) {
    const std::unique_ptr<Watch> closed(static_cast<Watch*>(handle->data));
  });
}

void SocketLink::send(std::string_view bytes) {
  note_queued();
  queue(bytes);
}

void SocketLink::queue(std::string_view bytes) {
  const MutexLock lock(mutex_);
  if (open_ != nullptr) {
    queued_.append(bytes);
  }
}

bool SocketLink::has_more() {
  return sent_ < sending_.size() || !queued_.empty() ||
         (open_->tls != nullptr && open_->tls->has_output());
}

// What is to be sent, by whoever is writing.
void SocketLink::seal(const Socket& socket) {
  if (socket.tls != nullptr && !socket.tls->seal(&sending_)) {
    shutdown(socket.fd, SHUT_RDWR);
  }
}

void SocketLink::flush() {
  MutexLock lock(mutex_);
  end_left();
  if (writing_ || blocked_) {
    return;
  }
  writing_ = true;
  while (open_ != nullptr && !blocked_ && has_more()) {
    const bool fresh = sent_ == sending_.size();
    if (fresh) {
      clear(&sending_);
      sending_.swap(queued_);
      sent_ = 0;
    }
    const Socket& socket = *open_;  // whoever closes it waits for us
    lock.unlock();
    if (fresh) {
      seal(socket);
    }
    const ssize_t size = ::send(socket.fd, sending_.data() + sent_, sending_.size() - sent_,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    const int error = errno;
    lock.lock();
    if (size >= 0) {
      sent_ += static_cast<std::size_t>(size);
    } else if (error != EINTR) {
      // Full, or broken: the loop finds out which by waiting for it.
      blocked_ = true;
      if (open_ != nullptr) {
        watch_for(*open_);
      }
    }
  }
  if (sent_ == sending_.size()) {
    clear(&sending_);
    sent_ = 0;
  }
  writing_ = false;
  writer_left_.notify_all();
}

bool SocketLink::is_open(const void* connection) {
  const MutexLock lock(mutex_);
  return open_.get() == connection;
}

std::unique_ptr<SocketLink::Turn> SocketLink::begin_turn() {
  const MutexLock lock(mutex_);
  const int kick = open_ == nullptr || turn_taken_ || is_shaking(*open_) ? -1 : kicks_.lend();
  if (kick < 0) {
    return nullptr;
  }
  turn_taken_ = true;
  caller_reads_ = true;
  reader_ = pthread_self();
  kick_ = kick;
  watch_for(*open_);
  return std::make_unique<Turn>(*this, open_, kick);
}

void SocketLink::take_back() {
  const MutexLock lock(mutex_);
  end_left();
}

void SocketLink::end_left() {
  if (caller_reads_ && pthread_equal(reader_, pthread_self()) == 0) {
    caller_reads_ = false;
    watch_for(*open_);
    Kicks::kick(kick_);
  }
}

void SocketLink::end_turn(const Socket& socket) {
  const MutexLock lock(mutex_);
  turn_taken_ = false;
  if (std::exchange(caller_reads_, false)) {
    watch_for(socket);
  } else {
    Kicks::forget(kick_);  // the connection may have ended without one
  }
}

SocketLink::Turn::Turn(SocketLink& link, std::shared_ptr<Socket> socket, int kick)
    : link_(link), socket_(std::move(socket)), kick_(kick) {}

SocketLink::Turn::~Turn() {
  link_.end_turn(*socket_);
  link_.kicks_.take_back(kick_);
}

bool SocketLink::Turn::read(int timeout_ms) {
  std::array<pollfd, 2> ready{{{socket_->fd, POLLIN, 0}, {kick_, POLLIN, 0}}};
  const int count = poll(ready.data(), ready.size(), timeout_ms);
  if (count <= 0) {
    return count == 0 || errno == EINTR;
  }
  if (ready[1].revents != 0) {
    return false;
  }
  const ssize_t size = link_.read_from(*socket_);
  return size > 0 || size == -EAGAIN || size == -EINTR;
}

}  // namespace belay
