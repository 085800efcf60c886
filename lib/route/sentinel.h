// One sentinel, connected to for as long as the client runs: where it says that the master is. It
// is asked again from time to time, and at once when it tells of a change. Sans-IO; owned by
// Sentinels.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/endpoint.h"
#include "base/log.h"
#include "net/link.h"
#include "net/resp.h"
#include "route/backoff.h"
#include "route/peer.h"

namespace belay {

class Sentinel final : public Peer {
 public:
  // The master is there since the failover of that number, by which sentinels tell old from new.
  struct Opinion {
    Endpoint master;
    std::int64_t epoch = 0;
  };

  // `master`: what the sentinels call it. All that is given by reference outlives it.
  Sentinel(const Config& config, const std::string& master, std::uint64_t seed,
           std::shared_ptr<Link> link, Log& log);

  // From the start on, `on_news` is called when the opinion or the trouble may have changed.
  void start(std::function<void(Micros now)> on_news, Micros now);
  void stop();
  void on_link_open(Micros now) override;
  void on_link_bytes(std::string_view bytes, Micros now) override;
  void on_link_closed(const Status& why, Micros now) override;
  // `sought`: nobody is connected to the master, so it is asked for more often.
  void on_timer(bool sought, Micros now);
  [[nodiscard]] Micros next_deadline(bool sought) const;

  // None while it is not connected, or does not know.
  [[nodiscard]] const std::optional<Opinion>& opinion() const { return opinion_; }

  // Why it has none. OK: it has, or is being asked for the first time.
  [[nodiscard]] const Status& trouble() const { return trouble_; }

  [[nodiscard]] const std::shared_ptr<Link>& link() const { return link_; }

 private:
  enum class State : std::uint8_t { kStopped, kWaiting, kConnecting, kOpen };
  // In this order; the last two again and again.
  enum class Step : std::uint8_t { kHello, kSubscribe, kAddress, kMaster };

  struct Sent {
    Step step;
    Micros at;
  };

  void write(Step step, const std::vector<std::string_view>& argv, Micros now);
  void greet(Micros now);
  void ask(Micros now);
  void connect(Micros now);
  void fail(Status why, Micros now);
  void hear(Reply reply, Micros now);
  void on_push(Reply push, Micros now);
  void on_reply(Step step, Reply reply, Micros now);
  [[nodiscard]] Status check_hello(Reply hello) const;
  void on_address(Reply reply);
  void on_master(Reply reply, Micros now);

  // Shorter than that of a call, which then can say what the sentinels have answered.
  [[nodiscard]] Micros patience() const { return config_.request_timeout / 2; }

  [[nodiscard]] Status refusal(std::string_view words) const;

  [[nodiscard]] std::string display() const { return link_->endpoint().display(); }

  const Config& config_;
  const std::string& master_;
  const Credentials us_;
  Log& log_;
  Backoff backoff_;
  const std::shared_ptr<Link> link_;
  std::function<void(Micros now)> on_news_;
  ReplyReader reader_;
  State state_ = State::kStopped;
  Micros act_at_ = kNever;  // when to connect, or to give up connecting
  std::deque<Sent> in_flight_;
  Micros asked_at_ = 0;
  bool ask_again_ = false;  // something changed while it was being asked
  std::optional<Endpoint> address_;
  Status no_address_;  // why that is not known
  std::optional<Opinion> opinion_;
  Status trouble_;
};

}  // namespace belay
