#include "net/socket_link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

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

}  // namespace

// The loop's handle of one socket; outlives the link's interest in it until libuv has let go.
struct SocketLink::Watch {
  uv_poll_t poll{};
  int fd = -1;
};

// A look-up's way back to the loop, until the link loses interest.
struct SocketLink::LookUp {
  explicit LookUp(Loop* back) : loop(back) {}

  Mutex mutex;
  Loop* loop GUARDED_BY(mutex);
};

SocketLink::SocketLink(Loop& loop, ServerAddress server, LinkEvents& events)
    : loop_(loop), server_(std::move(server)), events_(events) {}

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
  const int fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return false;
  }
  tune(fd, address.storage.ss_family);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 &&
      errno != EINPROGRESS) {
    const int error = errno;
    ::close(fd);
    errno = error;
    return false;
  }
  connecting_ = true;
  watch_ = new Watch;
  watch_->fd = fd;
  watch_->poll.data = this;
  uv_poll_init(loop_.uv(), &watch_->poll, fd);
  watch(UV_WRITABLE);
  return true;
}

void SocketLink::watch(int events) {
  uv_poll_start(&watch_->poll, events, [](uv_poll_t* poll, int status, int ready) {
    static_cast<SocketLink*>(poll->data)->on_ready(status, ready);
  });
}

void SocketLink::on_ready(int status, int events) {
  if (connecting_) {
    finish_connect();
    return;
  }
  if (status < 0) {  // libuv says no more than that; the socket knows
    // What the server said before it broke off may be why, such as too many clients.
    read_some();
    if (watch_ != nullptr) {
      fail("connection to " + server_.display() +
           " broke: " + error_text(socket_error(watch_->fd)));
    }
    return;
  }
  if ((events & UV_WRITABLE) != 0) {
    {
      const MutexLock lock(mutex_);
      blocked_ = false;
    }
    flush();
    update_watch();
  }
  if ((events & UV_READABLE) != 0) {
    read_some();
  }
}

void SocketLink::finish_connect() {
  if (const int error = socket_error(watch_->fd); error != 0) {
    close();
    if (next_address_ < addresses_.size()) {
      connect_next();
    } else {
      fail("connection to " + server_.display() + " failed: " + error_text(error));
    }
    return;
  }
  connecting_ = false;
  watch(UV_READABLE);
  {
    const MutexLock lock(mutex_);
    fd_ = watch_->fd;
  }
  events_.on_link_open();
}

void SocketLink::read_some() {
  std::array<char, 65536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by recv
  const ssize_t size = recv(watch_->fd, buffer.data(), buffer.size(), 0);
  if (size > 0) {
    events_.on_link_bytes({buffer.data(), static_cast<std::size_t>(size)});
  } else if (size == 0) {
    fail("connection to " + server_.display() + " was closed by the server");
  } else if (errno != EAGAIN && errno != EINTR) {
    fail("connection to " + server_.display() + " broke: " + error_text(errno));
  }
}

void SocketLink::fail(const std::string& what) {
  SocketLink::close();
  events_.on_link_closed({BELAY_UNAVAILABLE, what});
}

void SocketLink::close() {
  opening_ = false;
  connecting_ = false;
  if (look_up_ != nullptr) {
    const MutexLock lock(look_up_->mutex);
    look_up_->loop = nullptr;
  }
  look_up_.reset();
  {
    MutexLock lock(mutex_);
    fd_ = -1;
    if (watch_ != nullptr) {
      shutdown(watch_->fd, SHUT_RDWR);
    }
    writer_left_.wait(lock.native(), [this]() REQUIRES(mutex_) { return !writing_; });
    queued_.clear();
    sending_.clear();
    sent_ = 0;
    blocked_ = false;
  }
  if (watch_ == nullptr) {
    return;
  }
  Watch* watch = std::exchange(watch_, nullptr);
  watch->poll.data = watch;
  uv_poll_stop(&watch->poll);
  uv_close(reinterpret_cast<uv_handle_t*>(&watch->poll), [](uv_handle_t* handle) {
    const std::unique_ptr<Watch> closed(static_cast<Watch*>(handle->data));
    ::close(closed->fd);
  });
}

void SocketLink::send(std::string_view bytes) {
  const MutexLock lock(mutex_);
  if (fd_ >= 0) {
    queued_.append(bytes);
  }
}

void SocketLink::flush() {
  MutexLock lock(mutex_);
  if (writing_ || blocked_) {
    return;
  }
  writing_ = true;
  while (fd_ >= 0 && !blocked_ && (sent_ < sending_.size() || !queued_.empty())) {
    if (sent_ == sending_.size()) {
      sending_.clear();
      sending_.swap(queued_);
      sent_ = 0;
    }
    const int fd = fd_;
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
      loop_.post([this] { update_watch(); });
    }
  }
  writing_ = false;
  writer_left_.notify_all();
}

void SocketLink::update_watch() {
  if (watch_ == nullptr || connecting_) {
    return;
  }
  bool blocked = false;
  {
    const MutexLock lock(mutex_);
    blocked = blocked_;
  }
  watch(blocked ? UV_READABLE | UV_WRITABLE : UV_READABLE);
}

}  // namespace belay
