// A link that keeps what is sent. A test owns it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "net/link.h"
#include "unit/marks.h"

namespace belay {

// The owner keeps it for longer than whoever borrows it.
inline std::shared_ptr<Link> borrowed(Link& link) {
  return {std::shared_ptr<void>(), &link};
}

class FakeLink final : public Link {
 public:
  using Link::Link;

  void open() override { ++opened; }

  void send(std::string_view bytes) override {
    sent.append(bytes);
    marks.on_sent(bytes);
  }

  void close() override {
    sent.clear();
    marks.forget();
  }

  bool has_sent(const std::string& text) const { return sent.find(text) != std::string::npos; }

  int opened = 0;
  std::string sent;
  Marks marks;
};

}  // namespace belay
