// The sentinels of a master, and what their words come to. Sans-IO; owned by the router.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/endpoint.h"
#include "base/log.h"
#include "net/link.h"
#include "route/sentinel.h"
#include "route/topology.h"

namespace belay {

class Sentinels {
 public:
  Sentinels(const Config& config, const Watched& watched, const Dial& dial, std::uint64_t seed,
            Log& log);

  // From the start on, `on_news` is called when the master or the trouble may be another.
  void start(const std::function<void(Micros now)>& on_news, Micros now);
  void stop();
  // Whose link it is; null: none's.
  Peer* at(const Link& link);
  void on_timer(bool sought, Micros now);
  [[nodiscard]] Micros next_deadline(bool sought) const;
  // Adds what is to be written.
  void add_links_to_flush(Links* links) const;

  // What they call the master.
  [[nodiscard]] const std::string& name() const { return name_; }

  // Where it is: what the latest failover that any of them knows has led to. None: nobody has said.
  [[nodiscard]] std::optional<Endpoint> master() const;

  // Why nobody has.
  [[nodiscard]] Status trouble() const;

 private:
  void judge();

  const std::string name_;
  std::vector<std::unique_ptr<Sentinel>> all_;
  std::optional<Sentinel::Opinion> best_;
};

}  // namespace belay
