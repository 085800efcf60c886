// Which of a server's addresses is connected to, where some fail and some say nothing.
#include "net/connector.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <future>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "unit/own_process.h"

namespace belay {
namespace {

class Listener {
 public:
  Listener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto* name = reinterpret_cast<sockaddr_in*>(&address_.storage);
    name->sin_family = AF_INET;
    name->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address_.size = sizeof *name;
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(name), address_.size), 0);
    socklen_t size = sizeof *name;
    getsockname(fd_, reinterpret_cast<sockaddr*>(name), &size);
    EXPECT_EQ(listen(fd_, 0), 0);
  }

  ~Listener() {
    refuse();
    for (const int guest : guests_) {
      ::close(guest);
    }
  }

  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] const SocketAddress& address() const { return address_; }

  void refuse() {
    if (fd_ >= 0) {
      ::close(std::exchange(fd_, -1));
    }
  }

  // The system drops what asks for a connection once the queue is full.
  void swallow() {
    for (int i = 0; i < 8; ++i) {
      guests_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      static_cast<void>(connect(
          guests_.back(), reinterpret_cast<const sockaddr*>(&address_.storage), address_.size));
    }
  }

 private:
  SocketAddress address_;
  int fd_;
  std::vector<int> guests_;
};

class ConnectorTest : public testing::Test {
 protected:
  struct Outcome {
    int fd;
    std::string why;
  };

  ConnectorTest() {
    endpoint_.host = "two.test";
    endpoint_.port = 1;
    connector_ =
        std::make_unique<Connector>(*loop_, endpoint_, [this](int fd, const std::string& why) {
          done_.set_value({fd, why});
        });
  }

  ~ConnectorTest() override {
    stop();
    loop_->join();
  }

  void race(std::vector<SocketAddress> addresses) {
    before_ = open_descriptors();
    loop_->post([this, addresses = std::move(addresses)] { connector_->race(addresses); });
  }

  void stop() {
    std::promise<void> stopped;
    loop_->post([&] {
      if (connector_ != nullptr) {
        connector_->stop();
      }
      stopped.set_value();
    });
    stopped.get_future().wait();
  }

  Outcome outcome() {
    EXPECT_EQ(outcome_.wait_for(std::chrono::seconds(60)), std::future_status::ready) << "hung";
    return outcome_.get();
  }

  // Expects a connection to this one.
  void expect_connected(const Listener& listener) {
    const Outcome connected = outcome();
    ASSERT_GE(connected.fd, 0) << connected.why;
    SocketAddress peer;
    peer.size = sizeof peer.storage;
    ASSERT_EQ(getpeername(connected.fd, reinterpret_cast<sockaddr*>(&peer.storage), &peer.size), 0);
    EXPECT_EQ(std::memcmp(&peer.storage, &listener.address().storage, peer.size), 0);
    ::close(connected.fd);
  }

  std::unique_ptr<Loop> loop_ = std::move(Loop::create([] {}).value);
  Endpoint endpoint_;
  std::promise<Outcome> done_;
  std::future<Outcome> outcome_ = done_.get_future();
  std::unique_ptr<Connector> connector_;
  std::ptrdiff_t before_ = 0;
};

TEST_F(ConnectorTest, AnAddressThatSwallowsPacketsHidesNoOther) {
  Listener silent;
  const Listener good;
  silent.swallow();
  race({silent.address(), silent.address(), good.address()});
  expect_connected(good);
  EXPECT_EQ(open_descriptors(), before_);
}

TEST_F(ConnectorTest, AnAddressThatRefusesHidesNoOther) {
  Listener silent;
  Listener closed;
  const Listener good;
  silent.swallow();
  closed.refuse();
  race({closed.address(), silent.address(), closed.address(), good.address()});
  expect_connected(good);
  EXPECT_EQ(open_descriptors(), before_);
}

TEST_F(ConnectorTest, SaysWhyNoAddressCouldBeConnected) {
  Listener closed;
  closed.refuse();
  race({closed.address(), closed.address()});
  const Outcome failed = outcome();
  EXPECT_EQ(failed.fd, -1);
  EXPECT_EQ(failed.why, "connection to two.test:1 failed: connection refused");
  EXPECT_EQ(open_descriptors(), before_);
}

// It is on its way to the loop when the connector ends.
TEST_F(ConnectorTest, IsGoneWhenItsLookUpComesBack) {
  endpoint_.host = "localhost";
  loop_->post([this] {
    const std::ptrdiff_t before = running_threads();
    connector_->start();
    while (running_threads() > before) {
      std::this_thread::yield();
    }
    connector_->stop();
    connector_.reset();
  });
  stop();  // comes after what was looked up
  stop();
  EXPECT_EQ(outcome_.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
}

TEST_F(ConnectorTest, LeavesNothingWhereItIsStopped) {
  Listener silent;
  silent.swallow();
  race({silent.address(), silent.address()});
  stop();
  EXPECT_EQ(open_descriptors(), before_);
  EXPECT_EQ(outcome_.wait_for(std::chrono::milliseconds(600)), std::future_status::timeout);
}

}  // namespace
}  // namespace belay
