// A server's reply as a value, and as a line of text that tests compare and print. Plain values.
#include "support/reply.h"

#include <hiredis/hiredis.h>

#include <cstdio>

namespace belay::test {
namespace {

Reply::Kind kind_of(int type) {
  switch (type) {
    case REDIS_REPLY_NIL:
      return Reply::Kind::kNull;
    case REDIS_REPLY_STATUS:
      return Reply::Kind::kStatus;
    case REDIS_REPLY_ERROR:
      return Reply::Kind::kError;
    case REDIS_REPLY_INTEGER:
    case REDIS_REPLY_BOOL:
      return Reply::Kind::kInteger;
    case REDIS_REPLY_DOUBLE:
    case REDIS_REPLY_BIGNUM:
      return Reply::Kind::kNumber;
    case REDIS_REPLY_ARRAY:
    case REDIS_REPLY_SET:
      return Reply::Kind::kArray;
    case REDIS_REPLY_MAP:
    case REDIS_REPLY_ATTR:
      return Reply::Kind::kMap;
    case REDIS_REPLY_PUSH:
      return Reply::Kind::kPush;
    default:
      return Reply::Kind::kString;
  }
}

// NOLINTNEXTLINE(misc-no-recursion)
std::string joined(std::string_view open, const std::vector<Reply>& elements,
                   std::string_view close) {
  const bool pairs = open == "{";
  std::string text(open);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i > 0) {
      text += pairs && i % 2 == 1 ? ": " : ", ";
    }
    text += elements[i].canonical();
  }
  return text.append(close);
}

std::string prefixed(char sign, const std::string& text) {
  return std::string(1, sign).append(text);
}

}  // namespace

std::string Reply::error_code() const {
  return kind == Kind::kError ? text.substr(0, text.find(' ')) : std::string();
}

// NOLINTNEXTLINE(misc-no-recursion)
std::string Reply::canonical() const {
  switch (kind) {
    case Kind::kNone:
      return prefixed('?', text);
    case Kind::kNull:
      return "null";
    case Kind::kStatus:
      return prefixed('+', text);
    case Kind::kError:
      return prefixed('-', text);
    case Kind::kInteger:
      return std::to_string(integer);
    case Kind::kNumber:
      return prefixed(',', text);
    case Kind::kString:
      return printable(text);
    case Kind::kArray:
      return joined("[", elements, "]");
    case Kind::kMap:
      return joined("{", elements, "}");
    case Kind::kPush:
      return joined(">[", elements, "]");
  }
  return {};
}

std::string printable(std::string_view bytes) {
  std::string text = "\"";
  for (const char c : bytes) {
    if (c >= ' ' && c <= '~' && c != '"' && c != '\\') {
      text.push_back(c);
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(c));
    text += escaped;
  }
  return text + "\"";
}

// NOLINTNEXTLINE(misc-no-recursion)
Reply reply_of(const redisReply& reply) {
  Reply copy;
  copy.kind = kind_of(reply.type);
  copy.integer = reply.integer;
  if (reply.str != nullptr) {
    copy.text.assign(reply.str, reply.len);
  }
  for (std::size_t i = 0; i < reply.elements; ++i) {
    copy.elements.push_back(reply_of(*reply.element[i]));
  }
  return copy;
}

std::vector<Reply> parse_replies(std::string_view bytes) {
  std::vector<Reply> replies;
  redisReader* const reader = redisReaderCreate();
  redisReaderFeed(reader, bytes.data(), bytes.size());
  void* reply = nullptr;
  while (redisReaderGetReply(reader, &reply) == REDIS_OK && reply != nullptr) {
    replies.push_back(reply_of(*static_cast<redisReply*>(reply)));
    freeReplyObject(reply);
  }
  if (reader->err != 0) {
    Reply failure;
    failure.text = reader->errstr;
    replies.push_back(failure);
  }
  redisReaderFree(reader);
  return replies;
}

}  // namespace belay::test
