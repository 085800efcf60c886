// The links of a client that meets several hostile servers, and what its words must not hold. One
// thread; a session owns them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/require.h"
#include "net/link.h"

namespace belay::fuzz {

inline constexpr std::string_view kPassword = "SECRET-password";

inline void check_words(const std::string& words) {
  require_readable(words);
  require(words.find(kPassword) == std::string::npos, "a message hides the password", words);
}

inline std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

class FakeLink final : public Link {
 public:
  using Link::Link;

  void open() override { state = State::kOpening; }

  void send(std::string_view bytes) override {
    sent += bytes;
    size += bytes.size();
  }

  void close() override {
    state = State::kClosed;
    sent.clear();
  }

  enum class State { kClosed, kOpening, kOpen };
  State state = State::kClosed;
  std::string sent;      // and not answered
  std::size_t size = 0;  // of what was sent in this step
};

class FakeLinks {
 public:
  std::shared_ptr<Link> add(const Endpoint& endpoint) {
    auto link = std::make_shared<FakeLink>(endpoint);
    all_.push_back(link);
    return link;
  }

  // Those that the client keeps.
  std::vector<std::shared_ptr<FakeLink>> alive() {
    std::erase_if(all_, [](const auto& link) { return link.expired(); });
    std::vector<std::shared_ptr<FakeLink>> alive;
    for (const auto& link : all_) {
      alive.push_back(link.lock());
    }
    return alive;
  }

 private:
  std::vector<std::weak_ptr<FakeLink>> all_;
};

}  // namespace belay::fuzz
