// Links that are made, used and let go of while a loop runs, by several threads. The other end
// sends back what it gets.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "net/kicks.h"
#include "net/loop.h"
#include "net/socket_link.h"
#include "support/eventually.h"
#include "unit/own_process.h"

namespace belay {
namespace {

constexpr std::chrono::seconds kHung{60};

class Echo {
 public:
  Echo() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    socklen_t size = sizeof name;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size);
    EXPECT_EQ(listen(listener_, 64), 0);
    endpoint_ = {"127.0.0.1", ntohs(name.sin_port), "", false};
    thread_ = std::thread([this] { run(); });
  }

  ~Echo() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
  }

  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;

  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }

  // Until all others have left, and so many are here.
  void await(std::size_t guests) const {
    while (guests_ != guests) {
      std::this_thread::yield();
    }
  }

 private:
  void run() {
    std::vector<pollfd> fds{{listener_, POLLIN, 0}};
    for (;;) {
      poll(fds.data(), fds.size(), -1);
      if (fds.front().revents != 0) {
        const int guest = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (guest < 0) {
          break;
        }
        fds.push_back({guest, POLLIN, 0});
      }
      std::erase_if(fds, [this](const pollfd& one) {
        return one.fd != listener_ && one.revents != 0 && !answer(one.fd);
      });
      guests_ = fds.size() - 1;
    }
    for (const pollfd& one : fds) {
      ::close(one.fd);
    }
  }

  static bool answer(int guest) {
    std::array<char, 64> bytes{};
    const ssize_t size = recv(guest, bytes.data(), bytes.size(), 0);
    const bool stays =
        size > 0 && send(guest, bytes.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL) == size;
    if (!stays) {
      ::close(guest);
    }
    return stays;
  }

  int listener_;
  Endpoint endpoint_;
  std::atomic<std::size_t> guests_{0};
  std::thread thread_;
};

class LinksTest : public testing::Test, public LinkEvents {
 protected:
  void TearDown() override { loop_->join(); }

  std::shared_ptr<SocketLink> dial() {
    return {new SocketLink(*loop_, kicks_, echo_.endpoint(), config_, *this),
            [this](SocketLink* link) { loop_->post([link] { delete link; }); }};
  }

  std::shared_ptr<SocketLink> opened() {
    std::shared_ptr<SocketLink> link = dial();
    opened_ = std::promise<void>();
    loop_->post([link] { link->open(); });
    EXPECT_EQ(opened_.get_future().wait_for(kHung), std::future_status::ready);
    return link;
  }

  // What was posted before has been done.
  void settle() {
    std::promise<void> done;
    loop_->post([&done] { done.set_value(); });
    done.get_future().wait();
  }

  void say(SocketLink& link, const std::string& words) {
    heard_ = std::promise<std::string>();
    link.send(words);
    link.flush();
  }

  std::string heard() {
    std::future<std::string> words = heard_.get_future();
    return words.wait_for(kHung) == std::future_status::ready ? words.get() : "nothing";
  }

  void exchange(SocketLink& link, bool in_turn) {
    const auto turn = in_turn ? link.begin_turn() : nullptr;
    say(link, "hello");
    EXPECT_TRUE(turn == nullptr || turn->read(-1));
    EXPECT_EQ(heard(), "hello");
  }

  void on_link_open(Link& /*link*/) override { opened_.set_value(); }

  void on_link_bytes(Link& /*link*/, const void* /*connection*/, std::string_view bytes) override {
    heard_.set_value(std::string(bytes));
  }

  void on_link_closed(Link& /*link*/, const Status& /*why*/) override {}

  Config config_;
  Echo echo_;
  std::unique_ptr<Loop> loop_ = std::move(Loop::create([] {}).value);
  Kicks kicks_;
  std::promise<void> opened_;
  std::promise<std::string> heard_;
};

// Read by the loop, read by who waits, or not at all.
TEST_F(LinksTest, AreMadeAndLetGoOfTenThousandTimes) {
  say(*opened(), "x");
  settle();
  std::ptrdiff_t before = 0;
  for (int i = 0; i < 10'000; ++i) {
    before = i == 100 ? open_descriptors() : before;
    const std::shared_ptr<SocketLink> link = opened();
    if (i % 3 != 2) {
      exchange(*link, i % 3 == 1);
    }
    link->close();
  }
  settle();
  echo_.await(0);
  EXPECT_TRUE(test::eventually([before] { return open_descriptors() <= before; }));
}

TEST_F(LinksTest, TakeTwoDescriptorsEach) {
  const std::shared_ptr<SocketLink> first = opened();
  first->begin_turn();  // the first one needs one more
  echo_.await(1);
  const std::ptrdiff_t before = open_descriptors();
  std::vector<std::shared_ptr<SocketLink>> links;
  for (int i = 0; i < 8; ++i) {
    links.push_back(opened());
    links.back()->begin_turn();
  }
  echo_.await(1 + 8);
  EXPECT_EQ(open_descriptors() - before, 8 * (2 + 1));  // the other end's are here, too
  for (const auto& link : links) {
    link->close();
  }
  first->close();
}

TEST_F(LinksTest, SendAThreadAwayThatIsInItsTurn) {
  std::shared_ptr<SocketLink> link = opened();
  std::promise<void> in_turn;
  std::thread reader([&in_turn, link] {
    const auto turn = link->begin_turn();
    in_turn.set_value();
    while (turn->read(-1)) {
    }
  });
  in_turn.get_future().wait();
  link->close();
  link.reset();
  reader.join();
  settle();
}

}  // namespace
}  // namespace belay
