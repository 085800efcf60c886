// A stream of bytes to one server, as the layers above see it: a socket in life, a fake in
// simulations. open and the events that a connection has begun or ended belong to the loop thread;
// send and close are for whoever is in the client's monitor.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/endpoint.h"
#include "base/status.h"

namespace belay {

class Link {
 public:
  explicit Link(Endpoint endpoint = {}) : endpoint_(std::move(endpoint)) {}

  virtual ~Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Begins to connect; on_link_open or on_link_closed follows.
  virtual void open() = 0;

  // Queues bytes, in order. Without a connection they are dropped.
  virtual void send(std::string_view bytes) = 0;

  // Ends the connection or the attempt. No event follows.
  virtual void close() = 0;

  // What is being tried until on_link_open, in words.
  virtual std::string attempt() { return "connection to " + endpoint().display(); }

  // How long that may take, `most` at most. Of the loop thread.
  virtual Micros patience(Micros most) { return most; }

  // Whether bytes were queued since they were last taken to be written.
  [[nodiscard]] bool has_queued() const { return has_queued_; }

  bool take_queued() { return std::exchange(has_queued_, false); }

  // Where it leads.
  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }

 protected:
  void note_queued() { has_queued_ = true; }

 private:
  const Endpoint endpoint_;
  bool has_queued_ = false;  // the monitor's
};

// To each endpoint at which a server may be.
using Links = std::vector<std::shared_ptr<Link>>;

// Makes a link, while the client runs. Other threads may use it for a moment longer than its node.
using Dial = std::function<std::shared_ptr<Link>(const Endpoint& endpoint)>;

// Of any of the links that have this listener.
class LinkEvents {
 public:
  LinkEvents() = default;
  virtual ~LinkEvents() = default;
  LinkEvents(const LinkEvents&) = delete;
  LinkEvents& operator=(const LinkEvents&) = delete;

  virtual void on_link_open(Link& link) = 0;
  // `connection`: which one they came by. Whoever reads need not be alone: it may have ended.
  virtual void on_link_bytes(Link& link, const void* connection, std::string_view bytes) = 0;
  virtual void on_link_closed(Link& link, const Status& why) = 0;
};

}  // namespace belay
