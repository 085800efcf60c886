#include "base/log.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace belay {

namespace {

constexpr std::size_t kMostLines = 256;
constexpr std::size_t kMostBytes = 65536;
// With what is said of dropped lines it fits PIPE_BUF: a pipe takes all of it or nothing.
constexpr std::size_t kLongestLine = 4000;

// The host's stderr, for the time of one flush. Its description may be shared with other processes:
// none of its flags is changed, nor is it kept open.
class Stderr {
 public:
  explicit Stderr(const struct stat& first);

  ~Stderr() {
    close_one(own_);
    close_one(shared_);
  }

  Stderr(const Stderr&) = delete;
  Stderr& operator=(const Stderr&) = delete;

  // As write(2), but never waits.
  ssize_t write(std::string_view bytes);

 private:
  static void close_one(int fd) {
    if (fd >= 0) {
      close(fd);
    }
  }

  int shared_;    // its description under a number that the host does not use for anything else
  int own_ = -1;  // of a pipe or terminal: a description of our own, which does not block

  struct stat about_ {};
};

bool may_be_stderr(int fd, const struct stat& about, const struct stat& first) {
  const bool same = about.st_dev == first.st_dev && about.st_ino == first.st_ino;
  // A host that has closed its stderr may have got the number for a socket or a file of its data.
  const bool written_only = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY;
  return same || written_only || S_ISCHR(about.st_mode);
}

Stderr::Stderr(const struct stat& first) : shared_(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
  if (shared_ < 0 || fstat(shared_, &about_) != 0 || !may_be_stderr(shared_, about_, first)) {
    close_one(std::exchange(shared_, -1));
    return;
  }
  // What is opened gets the lowest number that is free: not one that the host may want.
  const bool others_open = fcntl(STDIN_FILENO, F_GETFD) >= 0 && fcntl(STDOUT_FILENO, F_GETFD) >= 0;
  if (others_open && (S_ISFIFO(about_.st_mode) || S_ISCHR(about_.st_mode))) {
    const std::string path = "/proc/self/fd/" + std::to_string(shared_);
    own_ = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own_ >= 0 && own_ <= STDERR_FILENO) {  // closed meanwhile
      close_one(std::exchange(own_, -1));
    }
  }
}

ssize_t Stderr::write(std::string_view bytes) {
  if (shared_ < 0) {
    errno = EBADF;
    return -1;
  }
  if (S_ISSOCK(about_.st_mode)) {
    return send(shared_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  if (own_ < 0 && !S_ISREG(about_.st_mode)) {
    pollfd writable{shared_, POLLOUT, 0};
    if (poll(&writable, 1, 0) == 0) {
      errno = EAGAIN;
      return -1;
    }
    if (writable.revents != POLLOUT) {
      errno = EPIPE;
      return -1;
    }
  }
  return ::write(own_ >= 0 ? own_ : shared_, bytes.data(), bytes.size());
}

std::string line_of(std::int32_t level, const std::string& message) {
  static constexpr std::array<const char*, 5> kNames{"", "error", "warning", "info", "debug"};
  std::string line = std::string("belay ") + kNames[static_cast<std::size_t>(level)] + ": ";
  line += message.size() + line.size() < kLongestLine
              ? message
              : message.substr(0, kLongestLine - line.size() - 4) + "...";
  return line + "\n";
}

}  // namespace

Log::Log(std::int64_t level, std::function<void()> wake, std::int64_t told, Tell tell)
    : level_(level), wake_(std::move(wake)), told_(told), tell_(std::move(tell)) {
  fstat(STDERR_FILENO, &first_);  // zeros where there is none
}

void Log::write(std::int32_t level, const std::string& message) {
  if (level <= told_) {
    tell_(level, message);
  }
  if (level > level_) {
    return;
  }
  std::string line = line_of(level, message);
  {
    const MutexLock lock(mutex_);
    if (lines_.size() >= kMostLines || size_ + line.size() > kMostBytes) {
      ++dropped_;
      return;
    }
    size_ += line.size();
    lines_.push_back({std::move(line), std::exchange(dropped_, 0)});
  }
  wake_();
}

bool Log::flush() {
  if (writing_.empty() && !take(&writing_)) {
    return true;
  }
  Stderr out(first_);
  do {
    const ssize_t size = out.write(writing_);
    if (size >= 0) {
      writing_.erase(0, static_cast<std::size_t>(size));
    } else if (errno == EAGAIN) {
      return false;
    } else if (errno != EINTR) {
      drop_all();
    }
  } while (!writing_.empty() || take(&writing_));
  return true;
}

bool Log::take(std::string* bytes) {
  const MutexLock lock(mutex_);
  if (lines_.empty()) {
    return false;
  }
  const Line& line = lines_.front();
  if (line.dropped > 0) {
    *bytes = "belay warning: " + std::to_string(line.dropped) + " lines of this log were dropped\n";
  }
  bytes->append(line.text);
  size_ -= line.text.size();
  lines_.pop_front();
  return true;
}

// There is no stderr, or nobody reads it any more.
void Log::drop_all() {
  const MutexLock lock(mutex_);
  writing_.clear();
  for (const Line& line : lines_) {
    dropped_ += line.dropped;
  }
  dropped_ += static_cast<std::int64_t>(lines_.size()) + 1;
  lines_.clear();
  size_ = 0;
}

}  // namespace belay
