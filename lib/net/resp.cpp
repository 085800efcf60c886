#include "net/resp.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace belay {

namespace {

// The largest reply that we ask for lists some thousand names of 1 KB. A server that sends more is
// not ours: hiredis would reserve whatever an array's header asks for, free by recursion what is
// nested without end, and look through a line without end again with each part of it.
constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxReplySize = 8U << 20U;
constexpr std::size_t kIdleBuffer = 64U << 10U;
// Anybody may publish messages. Ours have a name and little more.
constexpr std::size_t kMaxMessage = 8U << 10U;
constexpr std::size_t kMaxChannel = 1U << 10U;

bool has_elements(int type) {
  return type == REDIS_REPLY_ARRAY || type == REDIS_REPLY_MAP || type == REDIS_REPLY_PUSH ||
         type == REDIS_REPLY_SET;
}

bool has_text(int type) {
  return type == REDIS_REPLY_STRING || type == REDIS_REPLY_STATUS || type == REDIS_REPLY_ERROR ||
         type == REDIS_REPLY_VERB || type == REDIS_REPLY_BIGNUM || type == REDIS_REPLY_DOUBLE;
}

constexpr std::size_t kHeaderSize = 24;  // at most, of a part's size

char* put_header(char kind, std::size_t number, char* at) {
  *at++ = kind;
  at = std::to_chars(at, at + kHeaderSize, number).ptr;
  *at++ = '\r';
  *at++ = '\n';
  return at;
}

using CreateArray = void* (*)(const redisReadTask*, std::size_t);
CreateArray create_any_array = nullptr;  // hiredis's own

// An array within the limits; none ends the reading. The budget is the reader's.
void* create_array(const redisReadTask* task, std::size_t elements) {
  ElementBudget& budget = *static_cast<ElementBudget*>(task->privdata);
  budget.used += elements;
  int depth = 0;
  for (const redisReadTask* above = task->parent; above != nullptr; above = above->parent) {
    ++depth;
  }
  const bool within = depth < kMaxDepth && budget.used <= budget.most;
  return within ? create_any_array(task, elements) : nullptr;
}

// hiredis's functions that make replies, but for arrays.
redisReplyObjectFunctions* functions_of(const redisReader& reader) {
  static redisReplyObjectFunctions functions = [&reader] {
    redisReplyObjectFunctions bounded = *reader.fn;
    create_any_array = std::exchange(bounded.createArray, create_array);
    return bounded;
  }();
  return &functions;
}

redisReader* new_reader(ElementBudget* budget) {
  redisReader* reader = redisReaderCreate();
  if (reader == nullptr) {
    std::abort();  // out of memory terminates
  }
  budget->used = 0;
  reader->privdata = budget;
  reader->fn = functions_of(*reader);
  reader->maxelements = static_cast<long long>(budget->most);
  reader->maxbuf = kIdleBuffer;
  return reader;
}

// How a message begins, as far as has been read of it.
struct MessageHead {
  bool is_message = true;
  bool is_whole = false;
  std::size_t size = 0;     // of the head
  std::size_t payload = 0;  // and of what follows
};

// Takes "$SIZE\r\n" off the front. False: it is something else, or has not all come.
bool take_size(std::string_view* bytes, std::size_t* size, bool* is_message) {
  const std::size_t end = bytes->find("\r\n");
  const std::size_t digits = std::min(bytes->find('\r'), bytes->size());
  const char* const last = bytes->data() + digits;
  const bool fine = digits == 0 || (bytes->front() == '$' &&
                                    std::from_chars(bytes->data() + 1, last, *size).ptr == last);
  *is_message = *is_message && fine && digits < 20;
  if (!*is_message || end == std::string_view::npos) {
    return false;
  }
  bytes->remove_prefix(end + 2);
  return true;
}

MessageHead read_head(std::string_view bytes) {
  constexpr std::string_view kBegin = ">3\r\n$7\r\nmessage\r\n";
  MessageHead head;
  std::string_view rest = bytes.substr(std::min(bytes.size(), kBegin.size()));
  head.is_message = kBegin.starts_with(bytes.substr(0, kBegin.size()));
  std::size_t channel = 0;
  if (!head.is_message || bytes.size() <= kBegin.size() ||
      !take_size(&rest, &channel, &head.is_message)) {
    return head;
  }
  head.is_message = channel <= kMaxChannel;
  if (!head.is_message || rest.size() < channel + 2) {
    return head;
  }
  rest.remove_prefix(channel + 2);
  head.is_whole = take_size(&rest, &head.payload, &head.is_message);
  head.size = bytes.size() - rest.size();
  return head;
}

std::string error_of(const redisReader& reader) {
  return reader.err == REDIS_ERR_OOM ? "a reply has too many elements or levels" : reader.errstr;
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

bool Reply::is_status() const {
  return reply_->type == REDIS_REPLY_STATUS;
}

bool Reply::is_string() const {
  return reply_->type == REDIS_REPLY_STRING || reply_->type == REDIS_REPLY_VERB;
}

std::string_view Reply::text() const {
  return has_text(reply_->type) ? std::string_view(reply_->str, reply_->len - left_out_)
                                : std::string_view();
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
  return is_array() ? reply_->elements - left_out_ : 0;
}

Reply Reply::at(std::size_t index) const {
  return Reply(reply_->element[index]);
}

std::string_view Reply::text_of(std::string_view field) const {
  for (std::size_t i = 0; i + 1 < size(); i += 2) {
    if (at(i).text() == field) {
      return at(i + 1).text();
    }
  }
  return {};
}

std::optional<Reply> Reply::without(std::string_view mark) const {
  Reply rest = *this;
  if (is_string() && text().ends_with(mark)) {
    rest.left_out_ += mark.size();
    return rest;
  }
  if (size() > 0 && at(size() - 1).is_string() && at(size() - 1).text() == mark) {
    ++rest.left_out_;
    return rest;
  }
  return std::nullopt;
}

Reply moved_reply() {
  static char words[] = "MOVED";
  static const redisReply kReply = [] {
    redisReply error{};
    error.type = REDIS_REPLY_ERROR;
    error.str = words;
    error.len = sizeof words - 1;
    return error;
  }();
  return Reply(&kReply);
}

// By hand: it is three lines of the protocol, and hiredis's way was half of what a client spends on
// a command.
void append_command(const std::vector<std::string_view>& argv, std::string* out) {
  std::size_t most = kHeaderSize;
  for (const std::string_view part : argv) {
    most += kHeaderSize + part.size() + 2;
  }
  const std::size_t before = out->size();
  out->resize(before + most);
  char* at = put_header('*', argv.size(), out->data() + before);
  for (const std::string_view part : argv) {
    at = put_header('$', part.size(), at);
    at += part.copy(at, part.size());
    *at++ = '\r';
    *at++ = '\n';
  }
  out->resize(static_cast<std::size_t>(at - out->data()));
}

ReplyReader::ReplyReader(std::size_t most_elements)
    : budget_{most_elements}, reader_(new_reader(&budget_)) {}

ReplyReader::~ReplyReader() {
  redisReaderFree(reader_);
}

void ReplyReader::reset() {
  redisReaderFree(reader_);
  reader_ = new_reader(&budget_);
  unread_ = 0;
  to_pass_over_ = 0;
}

std::size_t ReplyReader::take_passed_over() {
  return std::exchange(passed_over_, 0);
}

// Where a reply begins: a large message is not kept until all of it has come, as it would cost that
// much memory, or, beyond what a reply may be, the connection. False: too little has come to know.
bool ReplyReader::pass_over_large_messages() {
  while (reader_->ridx == -1 || (reader_->ridx == 0 && reader_->task[0]->type == -1)) {
    const std::size_t ready = reader_->len - reader_->pos;
    const MessageHead head = read_head({reader_->buf + reader_->pos, ready});
    if (!head.is_message || ready == 0) {
      return true;
    }
    if (!head.is_whole || head.payload <= kMaxMessage) {
      return head.is_whole;
    }
    const std::size_t size = head.size + head.payload + 2;
    reader_->pos += std::min(size, ready);
    to_pass_over_ = size - std::min(size, ready);
    unread_ = ready - std::min(size, ready);
    ++passed_over_;
  }
  return true;
}

std::string ReplyReader::feed(std::string_view bytes, const std::function<bool(Reply)>& on_reply) {
  const std::size_t passed_over = std::min(to_pass_over_, bytes.size());
  to_pass_over_ -= passed_over;
  bytes.remove_prefix(passed_over);
  unread_ += bytes.size();
  if (redisReaderFeed(reader_, bytes.data(), bytes.size()) != REDIS_OK) {
    return error_of(*reader_);
  }
  while (pass_over_large_messages()) {
    void* reply = nullptr;
    if (redisReaderGetReply(reader_, &reply) != REDIS_OK) {
      return error_of(*reader_);
    }
    if (reply == nullptr) {
      return unread_ > kMaxReplySize ? "a reply is larger than 8 MiB" : "";
    }
    unread_ = 0;
    budget_.used = 0;
    const bool more = on_reply(Reply(static_cast<redisReply*>(reply)));
    freeReplyObject(reply);
    if (!more) {
      return "";
    }
  }
  return "";
}

}  // namespace belay
