#include "base/password_file.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <system_error>

#include "base/clock.h"

namespace belay {

namespace {

constexpr std::size_t kMostBytes = 4096;
constexpr Micros kPatience = 5 * kSecond;  // with who writes to a pipe
constexpr mode_t kForOthers = S_IRWXG | S_IRWXO;

// Why it is of no use, without its name.
Status refused(const std::string& what) {
  return {BELAY_INVALID_ARGUMENT, what};
}

// "'/run/secrets/redis' ", or "" of what may be a password by mistake: not a readable path that is
// there, or whose folder is.
std::string shown_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const bool in_folder =
      slash != std::string::npos && slash > 0 && access(path.substr(0, slash).c_str(), F_OK) == 0;
  const bool is_one_line =
      std::none_of(path.begin(), path.end(), [](char byte) { return byte >= 0 && byte < ' '; });
  return is_one_line && (in_folder || access(path.c_str(), F_OK) == 0) ? "'" + path + "' " : "";
}

Status unreadable(int error) {
  return refused("could not be read: " + std::system_category().message(error));
}

// "", or why reading would be wrong.
std::string wrong_kind(mode_t mode, bool takes_pipe) {
  if (S_ISREG(mode) || (S_ISFIFO(mode) && takes_pipe)) {
    return "";
  }
  return takes_pipe ? "is neither a regular file nor a pipe" : "is no regular file any more";
}

// From the root: the host may go to another directory. "" where that cannot be told.
std::string absolute(const std::string& path) {
  std::array<char, PATH_MAX> directory{};
  if (path.starts_with('/')) {
    return path;
  }
  return getcwd(directory.data(), directory.size()) == nullptr
             ? ""
             : std::string(directory.data()) + "/" + path;
}

// Until the first line is whole, the file has ended or the bytes are full.
Status read_line(int fd, std::array<char, kMostBytes>& bytes, std::string_view* line) {
  const Micros until = boot_time() + kPatience;
  std::size_t size = 0;
  while (size < bytes.size()) {
    pollfd readable{fd, POLLIN, 0};
    const Micros left = until - boot_time();
    if (left <= 0) {
      return refused("is a pipe to which nobody wrote for 5 s");
    }
    poll(&readable, 1, static_cast<int>(to_ms(left)) + 1);
    const ssize_t more = read(fd, bytes.data() + size, bytes.size() - size);
    if (more < 0 && errno != EAGAIN && errno != EINTR) {
      return unreadable(errno);
    }
    const bool ended = more == 0 && readable.revents != 0;
    size += more > 0 ? static_cast<std::size_t>(more) : 0;
    const std::string_view read_so_far(bytes.data(), size);
    const std::size_t end = read_so_far.find('\n');
    if (ended || end != std::string_view::npos) {
      *line = read_so_far.substr(0, end);
      return {};
    }
  }
  return refused("has a first line of more than 4095 bytes");
}

Result<PasswordFile> read_open(int fd, const std::string& path, bool takes_pipe) {
  struct stat about {};

  if (fstat(fd, &about) != 0) {
    return unreadable(errno);
  }
  if (const std::string wrong = wrong_kind(about.st_mode, takes_pipe); !wrong.empty()) {
    return refused(wrong);
  }
  std::array<char, kMostBytes> bytes{};
  std::string_view line;
  Status status = read_line(fd, bytes, &line);
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  if (status.ok() && line.empty()) {
    status = refused("is empty");
  }
  PasswordFile file;
  file.password = Secret(line);
  explicit_bzero(bytes.data(), bytes.size());
  if (!status.ok()) {
    return status;
  }
  if (S_ISREG(about.st_mode) && (about.st_mode & kForOthers) != 0) {
    file.warning = "is open to others than its owner: chmod 600";
  }
  if (S_ISREG(about.st_mode)) {
    file.origin = {absolute(path), geteuid()};
  }
  return file;
}

Result<PasswordFile> read_path(const std::string& path, bool takes_pipe) {
  // Nothing is waited for in open, and no terminal becomes ours.
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  Result<PasswordFile> file = fd < 0 ? unreadable(errno) : read_open(fd, path, takes_pipe);
  if (fd >= 0) {
    close(fd);
  }
  const std::string named = "the password file " + shown_path(path);
  if (!file.ok()) {
    file.status.message = named + file.status.message;
  } else if (!file.value.warning.empty()) {
    file.value.warning = named + file.value.warning;
  }
  return file;
}

}  // namespace

Result<PasswordFile> read_password_file(const char* path) {
  return read_path(path, true);
}

Result<PasswordFile> read_again(const PasswordOrigin& origin) {
  if (geteuid() != origin.reader && eaccess(origin.path.c_str(), R_OK) != 0 && errno == EACCES) {
    PasswordFile file;
    file.warning = "the password file " + shown_path(origin.path) +
                   "is closed to the user that this process has become: its password from before "
                   "is used";
    return file;
  }
  Result<PasswordFile> file = read_path(origin.path, false);
  if (!file.ok()) {
    file.status.code = BELAY_UNAVAILABLE;
  }
  return file;
}

}  // namespace belay
