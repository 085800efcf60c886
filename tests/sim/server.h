// An in-memory Redis for simulations: no socket, no thread, no clock of its own; the same inputs
// give the same bytes. Scripts run in a real Lua 5.1. One thread uses it; the simulation owns it.
// Its callbacks must not call back into it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/resp.h"

namespace belay::sim {

struct ServerState;

// Where a sentinel says that the master is, since the failover of that number.
struct MasterSeen {
  std::string name;  // what it calls it
  std::string host;
  std::uint16_t port = 0;
  std::int64_t epoch = 0;
};

// What a node of a cluster knows of a slot.
struct SlotPlace {
  bool is_here = true;
  bool is_copied = false;   // of whom this host is a replica
  bool is_leaving = false;  // here, and on its way to the other, key by key
  bool is_coming = false;   // from the other
  std::string other;        // "host:port": of whom it is, or where it goes
};

// Slots in a row, and whose they are.
struct SlotRun {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  std::string host;
  std::uint16_t port = 0;
};

class Server {
 public:
  using Args = std::span<const std::string_view>;
  // Microseconds since the epoch.
  using Clock = std::function<std::int64_t()>;
  // One whole RESP3 push message. Called while the command that causes it runs, so before that
  // command's own reply exists.
  using Push = std::function<void(std::string_view bytes)>;
  using Bus = std::function<void(std::string_view channel, std::string_view payload)>;
  using Killed = std::function<void(int connection)>;
  // Asked before each command of a connection: an error text such as "OOM ..." is answered instead
  // of running it.
  using Fault = std::function<std::optional<std::string>(Args argv)>;

  // `seed` makes the run id, so that servers of one simulation differ.
  explicit Server(std::uint64_t seed = 1);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // The server's time: a clock, or a number that stands until the next call. It may step either
  // way.
  void set_clock(Clock clock);
  void set_time(std::int64_t us);

  void set_fault(Fault fault);
  // Called for each connection that CLIENT KILL closes; the connection is already gone.
  void set_on_killed(Killed killed);
  // Connections of this server must then authenticate; "" switches that off.
  void set_password(std::string password);
  // CLIENT KILL and CLIENT TRACKING answer NOPERM.
  void set_client_commands_allowed(bool allowed);
  void set_number_digits(Digits digits);
  // From now on the server is a node of a cluster, which tells the others what is published.
  // `map`: what it says of all slots. `is_old`: it is a Redis 6.2, without shard channels.
  void join_cluster(std::function<SlotPlace(std::uint16_t slot)> slots,
                    std::function<std::vector<SlotRun>()> map, Bus bus, bool is_old);
  // Some slots are another node's from now on: who listens to channels in them is told.
  void give_away();
  // From now on the server is a sentinel, which says this when it is asked.
  void become_a_sentinel(std::function<MasterSeen()> seen);
  // From now on it is the master, with the data of its copy; or a replica, whose data are another
  // server's: these are not shown, as nobody reads them.
  void promote();
  void demote();
  // What was published at another node.
  void hear(std::string_view channel, std::string_view payload);

  // Returns the new connection's CLIENT ID. Connections speak RESP3 from the start.
  int connect(Push push);
  void disconnect(int connection);
  [[nodiscard]] bool connected(int connection) const;

  // Runs one command and returns its RESP3 reply. SUBSCRIBE and UNSUBSCRIBE answer by push
  // messages, also returned. On a connection that is gone nothing runs and the answer is empty.
  std::string execute(int connection, Args argv);
  std::string execute(int connection, const std::vector<std::string>& argv);

  void flush_scripts();
  // Connections and scripts are gone, ids start at 1 again, the run id is new; the data stay or
  // not. Nobody is told.
  void restart(bool keep_data);
  [[nodiscard]] bool has(std::string_view key);
  // A key goes to another node, with what is left of its time to live. False: there is none.
  bool move_key(std::string_view key, Server& to);
  // The keys of a slot, in an order that follows from them.
  [[nodiscard]] std::vector<std::string> keys_in(std::uint16_t slot);
  // Keeps a copy of a server's data as they are.
  void copy_data(const Server& from);
  // Restarts with the copy: a replica that was behind.
  void fail_over();
  [[nodiscard]] const std::string& run_id() const;

  // What stands at a key, without a command: a string, a field of a hash, a sorted set or a list in
  // its order.
  struct Ranked {
    std::string member;
    double score;
  };

  [[nodiscard]] std::optional<std::string_view> text(std::string_view key);
  [[nodiscard]] std::optional<std::string_view> field(std::string_view key, std::string_view name);
  [[nodiscard]] std::vector<std::string> fields(std::string_view key);
  [[nodiscard]] std::vector<Ranked> ranked(std::string_view key);
  [[nodiscard]] std::span<const std::string> elements(std::string_view key);

  // Commands run so far, those inside of scripts not counted.
  [[nodiscard]] std::uint64_t commands() const;

 private:
  std::unique_ptr<ServerState> state_;
};

}  // namespace belay::sim
