#include "net/resp.h"

#include <hiredis/hiredis.h>

#include <charconv>
#include <cstdlib>

namespace belay {

namespace {

// The largest reply that we ask for lists some thousand names of 1 KB. A server that sends more is
// not ours: hiredis would reserve whatever an array's header asks for.
constexpr long long kMaxElements = 20'000;
constexpr std::size_t kMaxReplySize = 64U << 20U;
constexpr std::size_t kIdleBuffer = 64U << 10U;

bool has_elements(int type) {
  return type == REDIS_REPLY_ARRAY || type == REDIS_REPLY_MAP || type == REDIS_REPLY_PUSH ||
         type == REDIS_REPLY_SET;
}

bool has_text(int type) {
  return type == REDIS_REPLY_STRING || type == REDIS_REPLY_STATUS || type == REDIS_REPLY_ERROR ||
         type == REDIS_REPLY_VERB || type == REDIS_REPLY_BIGNUM || type == REDIS_REPLY_DOUBLE;
}

redisReader* new_reader() {
  redisReader* reader = redisReaderCreate();
  if (reader == nullptr) {
    std::abort();  // out of memory terminates
  }
  reader->maxelements = kMaxElements;
  reader->maxbuf = kIdleBuffer;
  return reader;
}

}  // namespace

bool Reply::is_error() const {
  return reply_->type == REDIS_REPLY_ERROR;
}

bool Reply::is_null() const {
  return reply_->type == REDIS_REPLY_NIL;
}

bool Reply::is_array() const {
  return has_elements(reply_->type);
}

bool Reply::is_push() const {
  return reply_->type == REDIS_REPLY_PUSH;
}

bool Reply::is_integer() const {
  return reply_->type == REDIS_REPLY_INTEGER;
}

std::string_view Reply::text() const {
  return has_text(reply_->type) ? std::string_view(reply_->str, reply_->len) : std::string_view();
}

std::int64_t Reply::integer() const {
  if (is_integer()) {
    return reply_->integer;
  }
  std::int64_t number = 0;
  const std::string_view digits = text();
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::size_t Reply::size() const {
  return is_array() ? reply_->elements : 0;
}

Reply Reply::at(std::size_t index) const {
  return Reply(reply_->element[index]);
}

void append_command(const std::vector<std::string_view>& argv, std::string* out) {
  std::vector<const char*> parts;
  std::vector<std::size_t> sizes;
  parts.reserve(argv.size());
  sizes.reserve(argv.size());
  for (const std::string_view part : argv) {
    parts.push_back(part.data());
    sizes.push_back(part.size());
  }
  char* bytes = nullptr;
  const auto size =
      redisFormatCommandArgv(&bytes, static_cast<int>(argv.size()), parts.data(), sizes.data());
  if (size < 0) {
    std::abort();  // out of memory terminates
  }
  out->append(bytes, static_cast<std::size_t>(size));
  redisFreeCommand(bytes);
}

ReplyReader::ReplyReader() : reader_(new_reader()) {}

ReplyReader::~ReplyReader() {
  redisReaderFree(reader_);
}

void ReplyReader::reset() {
  redisReaderFree(reader_);
  reader_ = new_reader();
  unread_ = 0;
}

std::string ReplyReader::feed(std::string_view bytes, const std::function<bool(Reply)>& on_reply) {
  unread_ += bytes.size();
  if (redisReaderFeed(reader_, bytes.data(), bytes.size()) != REDIS_OK) {
    return reader_->errstr;
  }
  while (true) {
    void* reply = nullptr;
    if (redisReaderGetReply(reader_, &reply) != REDIS_OK) {
      return reader_->errstr;
    }
    if (reply == nullptr) {
      return unread_ > kMaxReplySize ? "a reply is larger than 64 MiB" : "";
    }
    unread_ = 0;
    const bool more = on_reply(Reply(static_cast<redisReply*>(reply)));
    freeReplyObject(reply);
    if (!more) {
      return "";
    }
  }
}

}  // namespace belay
