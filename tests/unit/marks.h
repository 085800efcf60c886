// Replies to scripts, given by hand, get the marks of the calls that they answer, as a server's
// have. A test's link owns it.
#pragma once

#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>

namespace belay {

class Marks {
 public:
  void on_sent(std::string_view command) {
    const bool calls = command.find("\r\n$4\r\nEVAL\r\n") != std::string_view::npos ||
                       command.find("\r\n$7\r\nEVALSHA\r\n") != std::string_view::npos;
    unanswered_.emplace_back(calls ? last_word(command) : "");
  }

  void forget() { unanswered_.clear(); }

  // Whole replies, each of which answers the oldest command.
  std::string marked(std::string_view replies) {
    std::string bytes;
    for (std::size_t at = 0; at < replies.size();) {
      const std::size_t end = end_of(replies, at);
      bytes += marked_one(replies.substr(at, end - at));
      at = end;
    }
    return bytes;
  }

 private:
  static std::string_view last_word(std::string_view command) {
    std::size_t at = 0;
    for (std::size_t end = command.find("\r\n") + 2; end < command.size();) {
      at = end;
      end = end_of(command, at);
    }
    const std::size_t word = command.find("\r\n", at) + 2;
    return command.substr(word, command.size() - 2 - word);
  }

  static std::size_t end_of(std::string_view bytes, std::size_t at) {
    const long number = std::strtol(std::string(bytes.substr(at + 1)).c_str(), nullptr, 10);
    const char kind = bytes[at];
    std::size_t end = bytes.find("\r\n", at) + 2;
    if (kind == '$' && number >= 0) {
      return end + static_cast<std::size_t>(number) + 2;
    }
    const long elements = kind == '%' ? 2 * number : kind == '*' || kind == '>' ? number : 0;
    for (long i = 0; i < elements; ++i) {
      end = end_of(bytes, end);
    }
    return end;
  }

  std::string marked_one(std::string_view reply) {
    const bool is_push = reply.starts_with(">");
    const bool answers = !is_push || reply.find("\r\nsubscribe\r\n") != std::string_view::npos;
    if (unanswered_.empty() || !answers) {
      return std::string(reply);
    }
    const std::string mark = unanswered_.front();
    unanswered_.pop_front();
    if (mark.empty() || reply[0] == '-') {
      return std::string(reply);
    }
    const std::size_t line = reply.find("\r\n") + 2;
    const unsigned long count = std::strtoul(std::string(reply.substr(1)).c_str(), nullptr, 10);
    if (reply[0] == '*') {
      return "*" + std::to_string(count + 1) + "\r\n" + std::string(reply.substr(line)) + "$" +
             std::to_string(mark.size()) + "\r\n" + mark + "\r\n";
    }
    return "$" + std::to_string(count + mark.size()) + "\r\n" +
           std::string(reply.substr(line, count)) + mark + "\r\n";
  }

  std::deque<std::string> unanswered_;  // marks; empty of what is no script's call
};

}  // namespace belay
