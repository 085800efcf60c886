// Stands between the node and the engine and notes, with a reader of its own, what the server has
// really granted: a hold that no such answer stands behind was believed without reason. One thread;
// a session owns it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/lock.h"
#include "engine/engine.h"
#include "net/resp.h"

namespace belay::fuzz {

class Witness final : public NodeEvents {
 public:
  Witness(Engine& engine, Identity client) : engine_(engine), client_(std::move(client)) {}

  // What the node has written.
  void on_sent(std::string_view bytes);
  // The commands of the engine that the connection had are gone.
  void on_cut();

  // Whether the server has granted that fence of that record to anybody.
  [[nodiscard]] bool granted(const std::string& record, std::int64_t fence) const;

  // Commands that the server has yet to answer, the oldest first; those of the greeting, too.
  using Argv = std::vector<std::string>;
  std::deque<Argv> asked;
  // How many replies this connection had too many, or, below 0, too few.
  int shift = 0;

  void on_node_up(Node& node, Micros now) override;
  void on_node_down(Node& node, Micros now) override;
  void on_node_refused(Node& node, Micros now) override;
  void on_node_reply(Node& node, std::uint64_t id, Reply reply, Micros sent, Micros now) override;
  void on_node_message(Node& node, std::string_view payload, Micros now) override;
  void on_node_flushed(Node& node, Micros now) override;
  void on_node_changed(Node& node, std::string_view key, Micros now) override;
  void on_node_slots(Node& node, const std::vector<SlotRange>& map, Micros now) override;
  void on_node_left(Node& node, std::uint16_t slot, Micros now) override;
  void on_node_clock(Node& node, Micros now) override;

 private:
  struct Grant {
    std::string record;
    double fence;
    double last;
  };

  void note_acquire(const Argv& command, std::string_view reply);
  void note_many(const Argv& command, std::string_view reply);
  void note_renewal(const Argv& command, std::string_view reply);

  Engine& engine_;
  const Identity client_;
  ReplyReader commands_;
  std::deque<Argv> of_engine_;
  std::vector<Grant> grants_;
};

// Whether `command` calls that script.
bool calls(const std::vector<std::string>& command, const Script& script);

// How many names a script's command is about: behind verb and script it says how many keys follow.
// Whether it renews what is plainly held.
bool keeps(const std::vector<std::string>& command);
std::size_t names_of(const std::vector<std::string>& command);

}  // namespace belay::fuzz
