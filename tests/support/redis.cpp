// A blocking RESP3 connection to a real server, for tests that look behind the library.
// Owned by a test; one thread.
#include "support/redis.h"

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <signal.h>
#include <strings.h>
#include <time.h>

#include <utility>

#include "support/eventually.h"

namespace belay::test {
namespace {

constexpr std::chrono::milliseconds kLimit(10000);

timeval limit() {
  const auto ms = scaled(kLimit).count();
  return {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

// While it lives, writing to a closed connection raises no signal in this thread. The test
// program's own handling of SIGPIPE stays as it is: tests look at that.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }

  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

  ~NoPipeSignal() {
    constexpr timespec kAtOnce{};
    if (sigismember(&before_, SIGPIPE) == 0) {
      sigtimedwait(&pipe_, nullptr, &kAtOnce);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
};

bool is_subscription(const std::string& name) {
  const auto is = [&name](const char* verb) { return strcasecmp(name.c_str(), verb) == 0; };
  return is("SUBSCRIBE") || is("UNSUBSCRIBE") || is("SSUBSCRIBE") || is("SUNSUBSCRIBE");
}

}  // namespace

void Redis::Free::operator()(redisContext* context) const {
  redisFree(context);
}

Redis Redis::unix_socket(const std::string& path) {
  return Redis(redisConnectUnixWithTimeout(path.c_str(), limit()));
}

Redis::Redis(redisContext* context)
    : context_(context), pushes_(std::make_unique<std::vector<Reply>>()) {
  if (!connected()) {
    return;
  }
  redisSetTimeout(context, limit());
  context->privdata = pushes_.get();
  redisSetPushCallback(context, &Redis::keep_push);
  command({"HELLO", "3"});
}

bool Redis::connected() const {
  return context_ != nullptr && context_->err == 0;
}

Reply Redis::command(const std::vector<std::string>& argv) {
  if (!connected()) {
    return failure();
  }
  const NoPipeSignal guard;
  std::vector<const char*> bytes;
  std::vector<std::size_t> sizes;
  for (const std::string& arg : argv) {
    bytes.push_back(arg.data());
    sizes.push_back(arg.size());
  }
  redisAppendCommandArgv(context_.get(), static_cast<int>(argv.size()), bytes.data(), sizes.data());
  if (is_subscription(argv[0])) {
    return wait_for_push(argv[0]);
  }
  void* reply = nullptr;
  if (redisGetReply(context_.get(), &reply) != REDIS_OK) {
    return failure();
  }
  Reply copy = reply_of(*static_cast<redisReply*>(reply));
  freeReplyObject(reply);
  return copy;
}

std::vector<Reply> Redis::take_pushes() {
  command({"PING"});
  return std::exchange(*pushes_, {});
}

void Redis::keep_push(void* pushes, void* reply) {
  static_cast<std::vector<Reply>*>(pushes)->push_back(reply_of(*static_cast<redisReply*>(reply)));
  freeReplyObject(reply);
}

bool Redis::flush() {
  int done = 0;
  while (done == 0) {
    if (redisBufferWrite(context_.get(), &done) != REDIS_OK) {
      return false;
    }
  }
  return true;
}

Reply Redis::failure() const {
  Reply failed;
  failed.text = context_ != nullptr ? context_->errstr : "out of memory";
  return failed;
}

// The answer to a subscription is the push message of that kind; others are kept.
Reply Redis::wait_for_push(const std::string& kind) {
  if (!flush()) {
    return failure();
  }
  for (;;) {
    void* reply = nullptr;
    while (redisGetReplyFromReader(context_.get(), &reply) == REDIS_OK && reply != nullptr) {
      Reply copy = reply_of(*static_cast<redisReply*>(reply));
      freeReplyObject(reply);
      const bool is_push = copy.kind == Reply::Kind::kPush && !copy.elements.empty();
      if (!is_push || strcasecmp(copy.elements[0].text.c_str(), kind.c_str()) == 0) {
        return copy;
      }
      pushes_->push_back(std::move(copy));
    }
    if (redisBufferRead(context_.get()) != REDIS_OK) {
      return failure();
    }
  }
}

}  // namespace belay::test
