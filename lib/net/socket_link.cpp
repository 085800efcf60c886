#include "net/socket_link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "net/stdio_guard.h"

namespace belay {

namespace {

constexpr int kKeepAliveSeconds = 15;

std::string error_text(int error) {
  return uv_strerror(uv_translate_sys_error(error));
}

int socket_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

SocketAddress unix_address(const std::string& path) {
  SocketAddress address;
  auto* name = reinterpret_cast<sockaddr_un*>(&address.storage);
  name->sun_family = AF_UNIX;
  path.copy(name->sun_path, sizeof name->sun_path - 1);
  address.size = sizeof(sockaddr_un);
  return address;
}

void set_option(int fd, int level, int name, int value) {
  // Each is an improvement that works without: a failure changes nothing that is promised.
  static_cast<void>(setsockopt(fd, level, name, &value, sizeof value));
}

void tune(int fd, int family) {
  if (family == AF_UNIX) {
    return;
  }
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveSeconds);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveSeconds / 3);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

// What was sent, or never will be, leaves no password behind.
void clear(WipingString* bytes) {
  explicit_bzero(bytes->data(), bytes->size());
  bytes->clear();
}

}  // namespace

// Kept by whoever uses it, so that its descriptors name nothing else meanwhile.
struct SocketLink::Socket {
  explicit Socket(int family)
      : fd(above_stdio(
            [=] { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); })),
        readiness(above_stdio([] { return epoll_create1(EPOLL_CLOEXEC); })),
        kick(above_stdio([] { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); })) {}

  ~Socket() {
    for (const int one : {fd, readiness, kick}) {
      if (one >= 0) {
        ::close(one);
      }
    }
  }

  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] bool made() const { return fd >= 0 && readiness >= 0 && kick >= 0; }

  const int fd;
  // What the loop watches in its place: unlike a handle of libuv's, any thread may change for what.
  const int readiness;
  const int kick;  // readable: whoever is in its turn is to go
};

// The loop's handle of one socket; outlives the link's interest in it until libuv has let go.
struct SocketLink::Watch {
  uv_poll_t poll{};
  std::shared_ptr<Socket> socket;
};

// A look-up's way back to the loop, until the link loses interest.
struct SocketLink::LookUp {
  explicit LookUp(Loop* back) : loop(back) {}

  Mutex mutex;
  Loop* loop GUARDED_BY(mutex);
};

SocketLink::SocketLink(Loop& loop, const ServerAddress& server, LinkEvents& events)
    : loop_(loop), server_(server), events_(events) {}

SocketLink::~SocketLink() = default;

void SocketLink::open() {
  close();
  opening_ = true;
  loop_.post([this] {
    if (std::exchange(opening_, false)) {
      begin();
    }
  });
}

void SocketLink::begin() {
  next_address_ = 0;
  addresses_.clear();
  if (!server_.path.empty()) {
    addresses_.push_back(unix_address(server_.path));
  } else {
    addresses_ = literal_address(server_.host, server_.port);
  }
  if (!addresses_.empty()) {
    connect_next();
    return;
  }
  look_up_ = std::make_shared<LookUp>(&loop_);
  resolve(server_.host, server_.port,
          [this, look_up = look_up_](std::vector<SocketAddress> addresses, const std::string& why) {
            const MutexLock lock(look_up->mutex);
            if (look_up->loop != nullptr) {
              look_up->loop->post([this, look_up, found = std::move(addresses), why] {
                if (look_up == look_up_) {
                  on_resolved(found, why);
                }
              });
            }
          });
}

void SocketLink::on_resolved(std::vector<SocketAddress> addresses, const std::string& why) {
  look_up_.reset();
  addresses_ = std::move(addresses);
  if (addresses_.empty()) {
    events_.on_link_closed(
        {BELAY_UNAVAILABLE, "host '" + server_.host + "' could not be resolved: " + why});
    return;
  }
  connect_next();
}

// Tries the addresses in turn; the last one's error is told.
void SocketLink::connect_next() {
  int error = 0;
  while (next_address_ < addresses_.size()) {
    if (connect_to(addresses_[next_address_++])) {
      return;
    }
    error = errno;
  }
  fail("connection to " + server_.display() + " failed: " + error_text(error));
}

bool SocketLink::connect_to(const SocketAddress& address) {
  auto socket = std::make_shared<Socket>(address.storage.ss_family);
  epoll_event writable{};
  writable.events = EPOLLOUT;
  if (!socket->made() || epoll_ctl(socket->readiness, EPOLL_CTL_ADD, socket->fd, &writable) != 0) {
    return false;
  }
  tune(socket->fd, address.storage.ss_family);
  if (connect(socket->fd, reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 &&
      errno != EINPROGRESS) {
    const int error = errno;
    socket.reset();
    errno = error;
    return false;
  }
  auto watch = std::make_unique<Watch>();
  if (const int error = uv_poll_init(loop_.uv(), &watch->poll, socket->readiness); error != 0) {
    errno = -error;
    return false;
  }
  connecting_ = true;
  watch_ = watch.release();
  watch_->socket = std::move(socket);
  watch_->poll.data = this;
  uv_poll_start(&watch_->poll, UV_READABLE, [](uv_poll_t* poll, int, int) {
    static_cast<SocketLink*>(poll->data)->on_ready();
  });
  return true;
}

// Sets what makes the loop look at the socket, beside its end.
void SocketLink::watch_for(const Socket& socket) {
  epoll_event events{};
  events.events = (left_ ? 0U : EPOLLIN) | (blocked_ ? EPOLLOUT : 0U);
  epoll_ctl(socket.readiness, EPOLL_CTL_MOD, socket.fd, &events);
}

void SocketLink::on_ready() {
  if (connecting_) {
    finish_connect();
    return;
  }
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

void SocketLink::finish_connect() {
  if (const int error = socket_error(watch_->socket->fd); error != 0) {
    close();
    if (next_address_ < addresses_.size()) {
      connect_next();
    } else {
      fail("connection to " + server_.display() + " failed: " + error_text(error));
    }
    return;
  }
  connecting_ = false;
  {
    const MutexLock lock(mutex_);
    open_ = watch_->socket;
    watch_for(*open_);
  }
  events_.on_link_open();
}

void SocketLink::read_some() {
  const std::shared_ptr<Socket> socket = watch_->socket;
  const ssize_t size = read_from(*socket);
  if (size == 0) {
    fail("connection to " + server_.display() + " was closed by the server");
  } else if (size < 0 && size != -EAGAIN && size != -EINTR) {
    fail("connection to " + server_.display() + " broke: " + error_text(static_cast<int>(-size)));
  }
}

ssize_t SocketLink::read_from(const Socket& socket) {
  const MutexLock lock(reading_);
  const ssize_t size = recv(socket.fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (size > 0) {
    events_.on_link_bytes(&socket, {buffer_.data(), static_cast<std::size_t>(size)});
  }
  return size >= 0 ? size : -errno;
}

void SocketLink::fail(const std::string& what) {
  SocketLink::close();
  events_.on_link_closed({BELAY_UNAVAILABLE, what});
}

void SocketLink::close() {
  std::shared_ptr<Socket> socket;
  {
    MutexLock lock(mutex_);
    socket = std::exchange(open_, nullptr);
    if (socket != nullptr) {
      shutdown(socket->fd, SHUT_RDWR);
    }
    writer_left_.wait(lock.native(), [this]() REQUIRES(mutex_) { return !writing_; });
    clear(&queued_);
    clear(&sending_);
    sent_ = 0;
    blocked_ = false;
    left_ = false;
  }
  if (loop_.is_this_thread()) {
    end_watch();
  } else if (socket != nullptr) {
    loop_.post([this, socket] {
      if (watch_ != nullptr && watch_->socket == socket) {
        end_watch();
      }
    });
  }
}

// What of a connection or an attempt belongs to the loop.
void SocketLink::end_watch() {
  opening_ = false;
  connecting_ = false;
  if (look_up_ != nullptr) {
    const MutexLock lock(look_up_->mutex);
    look_up_->loop = nullptr;
  }
  look_up_.reset();
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
  const MutexLock lock(mutex_);
  if (open_ != nullptr) {
    queued_.append(bytes);
  }
}

void SocketLink::flush() {
  MutexLock lock(mutex_);
  end_left();
  if (writing_ || blocked_) {
    return;
  }
  writing_ = true;
  while (open_ != nullptr && !blocked_ && (sent_ < sending_.size() || !queued_.empty())) {
    if (sent_ == sending_.size()) {
      clear(&sending_);
      sending_.swap(queued_);
      sent_ = 0;
    }
    const int fd = open_->fd;  // whoever closes it waits for us
    lock.unlock();
    const ssize_t size =
        ::send(fd, sending_.data() + sent_, sending_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
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
  if (open_ == nullptr || turn_taken_) {
    return nullptr;
  }
  turn_taken_ = true;
  left_ = true;
  reader_ = pthread_self();
  watch_for(*open_);
  return std::make_unique<Turn>(*this, open_);
}

void SocketLink::take_back() {
  const MutexLock lock(mutex_);
  end_left();
}

void SocketLink::end_left() {
  if (left_ && pthread_equal(reader_, pthread_self()) == 0) {
    left_ = false;
    watch_for(*open_);
    eventfd_write(open_->kick, 1);
  }
}

void SocketLink::end_turn(const Socket& socket) {
  const MutexLock lock(mutex_);
  turn_taken_ = false;
  if (std::exchange(left_, false)) {
    watch_for(socket);
    return;
  }
  eventfd_t kicks = 0;
  eventfd_read(socket.kick, &kicks);  // the connection may have ended without one
}

SocketLink::Turn::Turn(SocketLink& link, std::shared_ptr<Socket> socket)
    : link_(link), socket_(std::move(socket)) {}

SocketLink::Turn::~Turn() {
  link_.end_turn(*socket_);
}

bool SocketLink::Turn::read(int timeout_ms) {
  std::array<pollfd, 2> ready{{{socket_->fd, POLLIN, 0}, {socket_->kick, POLLIN, 0}}};
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
