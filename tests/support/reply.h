// A server's reply as a value, and as a line of text that tests compare and print. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

struct redisReply;

namespace belay::test {

struct Reply {
  // kNone: the connection failed, or nothing was there to read; `text` says why.
  enum class Kind {
    kNone,
    kNull,
    kStatus,
    kError,
    kInteger,
    kNumber,
    kString,
    kArray,
    kMap,
    kPush
  };

  Kind kind = Kind::kNone;
  std::string text;             // of a status, error, number or string
  std::int64_t integer = 0;     // of an integer
  std::vector<Reply> elements;  // of an array or push; of a map key, value, key, value ...

  [[nodiscard]] bool is_error() const { return kind == Kind::kError || kind == Kind::kNone; }

  // The first word of an error: "WRONGTYPE".
  [[nodiscard]] std::string error_code() const;
  // One line: ?failure, +OK, -ERR no, 12, ,1.5, "a\x01b", null, [1, "a"], {"k": 1}, >["message",
  // ...].
  [[nodiscard]] std::string canonical() const;
};

// Bytes with quotes around, and \xNN for what cannot be printed.
std::string printable(std::string_view bytes);

Reply reply_of(const redisReply& reply);
// All whole replies in `bytes`, by hiredis.
std::vector<Reply> parse_replies(std::string_view bytes);

}  // namespace belay::test
