#include "net/connector.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/mutex.h"
#include "net/stdio_guard.h"

namespace belay {

namespace {

constexpr int kKeepAliveSeconds = 15;
// What RFC 8305 recommends between the beginnings of two attempts.
constexpr std::uint64_t kAttemptDelayMs = 250;

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

// libuv lets go of a handle later.
template <typename Handle, typename Owner>
void close_and_free(Handle* handle, Owner* owner) {
  handle->data = owner;
  uv_close(reinterpret_cast<uv_handle_t*>(handle), [](uv_handle_t* closed) {
    const std::unique_ptr<Owner> freed(static_cast<Owner*>(closed->data));
  });
}

}  // namespace

struct Connector::Attempt {
  uv_poll_t poll{};
  Connector* connector = nullptr;
  int fd = -1;
};

// A look-up's way back to the loop, until the connector loses interest.
struct Connector::LookUp {
  explicit LookUp(Loop* back) : loop(back) {}

  // The connector may be gone, too.
  bool is_over() {
    const MutexLock lock(mutex);
    return loop == nullptr;
  }

  Mutex mutex;
  Loop* loop GUARDED_BY(mutex);
};

Connector::Connector(Loop& loop, const Endpoint& endpoint, Done done)
    : loop_(loop), endpoint_(endpoint), done_(std::move(done)) {}

Connector::~Connector() = default;

void Connector::start() {
  if (!endpoint_.path.empty()) {
    race({unix_address(endpoint_.path)});
    return;
  }
  std::vector<SocketAddress> literal = literal_address(endpoint_.host, endpoint_.port);
  if (literal.empty()) {
    resolve_name();
  } else {
    race(std::move(literal));
  }
}

void Connector::resolve_name() {
  look_up_ = std::make_shared<LookUp>(&loop_);
  resolve(endpoint_.host, endpoint_.port,
          [this, look_up = look_up_](std::vector<SocketAddress> addresses, const std::string& why) {
            const MutexLock lock(look_up->mutex);
            if (look_up->loop == nullptr) {
              return;
            }
            look_up->loop->post([this, look_up, found = std::move(addresses), why] {
              if (look_up->is_over()) {
                return;
              }
              if (found.empty()) {
                finish(-1, "host '" + endpoint_.host + "' could not be resolved: " + why);
              } else {
                race(found);
              }
            });
          });
}

void Connector::race(std::vector<SocketAddress> addresses) {
  look_up_.reset();
  addresses_ = std::move(addresses);
  next_ = 0;
  try_next();
}

void Connector::try_next() {
  while (next_ < addresses_.size()) {
    if (try_address(addresses_[next_++])) {
      break;
    }
    error_ = errno;
  }
  if (attempts_.empty()) {
    finish(-1, "connection to " + endpoint_.display() +
                   " failed: " + uv_strerror(uv_translate_sys_error(error_)));
  } else {
    set_timer();
  }
}

bool Connector::try_address(const SocketAddress& address) {
  const int family = address.storage.ss_family;
  const int fd =
      above_stdio([=] { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
  if (fd < 0) {
    return false;
  }
  tune(fd, family);
  auto attempt = std::make_unique<Attempt>();
  int error = 0;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 &&
      errno != EINPROGRESS) {
    error = errno;
  } else {
    error = -uv_poll_init(loop_.uv(), &attempt->poll, fd);
  }
  if (error != 0) {
    ::close(fd);
    errno = error;
    return false;
  }
  attempt->connector = this;
  attempt->fd = fd;
  attempt->poll.data = attempt.get();
  uv_poll_start(&attempt->poll, UV_WRITABLE, [](uv_poll_t* poll, int, int) {
    auto* ready = static_cast<Attempt*>(poll->data);
    ready->connector->on_ready(ready);
  });
  attempts_.push_back(attempt.release());
  return true;
}

// Connected, or failed.
void Connector::on_ready(Attempt* attempt) {
  const int fd = attempt->fd;
  const int error = socket_error(fd);
  attempts_.erase(std::find(attempts_.begin(), attempts_.end(), attempt));
  close_and_free(&attempt->poll, attempt);
  if (error == 0) {
    finish(fd, {});
    return;
  }
  ::close(fd);
  error_ = error;
  try_next();
}

// Until the next address is tried, from now on.
void Connector::set_timer() {
  if (next_ == addresses_.size()) {
    if (timer_ != nullptr) {
      uv_timer_stop(timer_);
    }
    return;
  }
  if (timer_ == nullptr) {
    timer_ = std::make_unique<uv_timer_t>().release();
    uv_timer_init(loop_.uv(), timer_);
    timer_->data = this;
  }
  uv_timer_start(
      timer_, [](uv_timer_t* timer) { static_cast<Connector*>(timer->data)->try_next(); },
      kAttemptDelayMs, 0);
}

void Connector::finish(int fd, const std::string& why) {
  stop();
  done_(fd, why);
}

void Connector::stop() {
  if (look_up_ != nullptr) {
    const MutexLock lock(look_up_->mutex);
    look_up_->loop = nullptr;
  }
  look_up_.reset();
  for (Attempt* attempt : std::exchange(attempts_, {})) {
    const int fd = attempt->fd;
    close_and_free(&attempt->poll, attempt);
    ::close(fd);
  }
  if (timer_ != nullptr) {
    close_and_free(timer_, timer_);
    timer_ = nullptr;
  }
}

}  // namespace belay
