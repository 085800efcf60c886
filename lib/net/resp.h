// The Redis protocol, by hiredis: commands to bytes, bytes to replies. Used inside the client's
// monitor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;
struct redisReply;

namespace belay {

// A read-only view of a reply; it lives no longer than the callback that got it.
class Reply {
 public:
  explicit Reply(const redisReply* reply) : reply_(reply) {}

  [[nodiscard]] bool is_error() const;
  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_array() const;  // also a map or a push
  [[nodiscard]] bool is_push() const;
  [[nodiscard]] bool is_integer() const;
  [[nodiscard]] bool is_status() const;
  [[nodiscard]] bool is_string() const;

  [[nodiscard]] std::string_view text() const;  // of a string, status or error; "" otherwise
  [[nodiscard]] std::int64_t integer() const;   // of an integer or of a text of digits; 0 otherwise
  [[nodiscard]] std::size_t size() const;       // how many elements; 0 if it has none
  [[nodiscard]] Reply at(std::size_t index) const;
  // What a map says under that name; "" where it does not, or is none.
  [[nodiscard]] std::string_view text_of(std::string_view field) const;

  // The reply without `mark`, with which a string ends, or which is the last element; none where it
  // bears another mark, or none.
  [[nodiscard]] std::optional<Reply> without(std::string_view mark) const;

 private:
  const redisReply* reply_;
  std::size_t left_out_ = 0;  // at its end: bytes or elements
};

// An error that says that a slot has moved, and not where to.
Reply moved_reply();

// Appends the command to `out`.
void append_command(const std::vector<std::string_view>& argv, std::string* out);

// How many elements a reply may have, those of all its arrays together.
struct ElementBudget {
  std::size_t most;
  std::size_t used = 0;
};

// Cuts a stream of bytes into replies.
class ReplyReader {
 public:
  // The default is more than the largest reply of ours has, but for the map of a cluster.
  static constexpr std::size_t kMostElements = 20'000;

  explicit ReplyReader(std::size_t most_elements = kMostElements);
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // Calls `on_reply` for each whole reply; stops early when it returns false. Returns "" or what is
  // wrong with the bytes, after which the reader cannot go on.
  std::string feed(std::string_view bytes, const std::function<bool(Reply)>& on_reply);

  // How many messages were passed over since the last call, as they are larger than any of ours.
  std::size_t take_passed_over();

  // Forgets everything: for a new connection.
  void reset();

 private:
  ElementBudget budget_;
  redisReader* reader_;
  bool pass_over_large_messages();

  std::size_t unread_ = 0;        // bytes fed since the last whole reply
  std::size_t to_pass_over_ = 0;  // bytes that are still to come
  std::size_t passed_over_ = 0;   // messages
};

}  // namespace belay
