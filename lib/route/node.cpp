#include "route/node.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "route/server_error.h"

namespace belay {

namespace {

constexpr Micros kFirstBackoff = 10 * kMillisecond;
constexpr Micros kLastBackoff = 2 * kSecond;
constexpr int kBackoffDoublings = 8;  // 10 ms doubled eight times is beyond the last
constexpr Micros kTellDropped = 60 * kSecond;
constexpr std::string_view kOldestServer = "6.2";
constexpr std::size_t kMostOld = 64;        // connections of ours that are remembered, to be killed
constexpr std::int64_t kLargestPart = 999;  // of a version

// "7.0.15" -> 7000015, to compare.
std::int64_t version_number(std::string_view text) {
  std::int64_t number = 0;
  std::int64_t part = 0;
  int parts = 0;
  for (std::size_t i = 0; i <= text.size() && parts < 3; ++i) {
    if (i < text.size() && text[i] >= '0' && text[i] <= '9') {
      part = std::min(part * 10 + (text[i] - '0'), kLargestPart);
    } else {
      number = number * 1000 + part;
      part = 0;
      ++parts;
    }
  }
  for (; parts < 3; ++parts) {
    number *= 1000;
  }
  return number;
}

// A field of a HELLO reply, which is a map.
std::string_view field_of(Reply map, std::string_view name) {
  for (std::size_t i = 0; i + 1 < map.size(); i += 2) {
    if (map.at(i).text() == name) {
      return map.at(i + 1).text();
    }
  }
  return {};
}

std::string_view line_of(std::string_view info, std::string_view name) {
  const std::size_t start = info.find(name);
  if (start == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = info.substr(start + name.size());
  return rest.substr(0, rest.find_first_of("\r\n"));
}

// What a call's reply repeats.
std::string mark_of(std::uint32_t call) {
  std::string mark;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    mark.push_back(static_cast<char>(call >> shift & 0xFFU));
  }
  return mark;
}

// Of a reply to TIME; 0 where it is none, or none that our messages can carry.
Micros time_of(Reply reply) {
  if (reply.size() != 2) {
    return 0;
  }
  const std::int64_t seconds = reply.at(0).integer();
  const std::int64_t micros = reply.at(1).integer();
  const bool sane = seconds >= 0 && seconds < kMaxId / kSecond && micros >= 0 && micros < kSecond;
  return sane ? seconds * kSecond + micros : 0;
}

}  // namespace

Node::Node(const Config& config, std::string inbox, std::uint64_t seed, Link& link, Log& log)
    : config_(config),
      inbox_(std::move(inbox)),
      log_(log),
      random_(seed),
      link_(link),
      reader_(&config.server) {}

void Node::start(NodeEvents& events, Micros now) {
  events_ = &events;
  state_ = State::kWaiting;
  act_at_ = now;
}

void Node::stop() {
  state_ = State::kStopped;
  act_at_ = kNever;
  in_flight_.clear();
  link_.close();
}

Micros Node::next_deadline() const {
  if (state_ == State::kStopped || in_flight_.empty()) {
    return act_at_;
  }
  // A server that answers one thing after the other is slow, and no worse for a new connection.
  const Micros since = std::max(in_flight_.front().at, answered_at_);
  return std::min(act_at_, since + config_.request_timeout);
}

void Node::on_timer(Micros now) {
  if (now < next_deadline()) {
    return;
  }
  const std::string limit = std::to_string(to_ms(config_.request_timeout)) + " ms";
  if (state_ == State::kWaiting) {
    connect(now);
  } else if (state_ == State::kConnecting) {
    fail({BELAY_UNAVAILABLE, "connection to " + display() + " did not come about within " + limit},
         now);
  } else {
    fail({BELAY_UNAVAILABLE, display() + " did not answer within " + limit}, now);
  }
}

void Node::connect(Micros now) {
  state_ = State::kConnecting;
  act_at_ = now + config_.request_timeout;
  reader_.reset();
  loaded_.clear();
  tracking_ = false;
  connection_id_ = 0;
  clock_asked_ = false;
  link_.open();
}

// Full jitter (Brooker 2015): anything up to the doubled delay.
Micros Node::backoff() {
  const Micros ceiling =
      std::min(kLastBackoff, kFirstBackoff << std::min(failures_, kBackoffDoublings));
  ++failures_;
  return random_.between(kMillisecond, ceiling);
}

void Node::fail(const Status& why, Micros now) {
  const bool was_up = up();
  link_.close();
  in_flight_.clear();
  if (was_up && connection_id_ != 0) {  // one that never came up carried nothing of the engine's
    old_.push_back({run_id_, connection_id_});
    if (old_.size() > kMostOld) {
      old_.pop_front();
    }
  }
  if (log_.enabled(BELAY_LOG_WARNING) && (was_up || why.message != trouble_.message)) {
    log_.write(BELAY_LOG_WARNING, why.message);
  }
  trouble_ = why;
  clock_.forget();
  state_ = State::kWaiting;
  act_at_ = now + (belay_status_class(why.code) == BELAY_CLASS_REFUSED ? kLastBackoff : backoff());
  if (was_up) {
    events_->on_node_down(*this, now);
  }
  if (belay_status_class(why.code) == BELAY_CLASS_REFUSED) {
    events_->on_node_refused(*this, now);
  }
}

void Node::on_link_closed(const Status& why, Micros now) {
  if (state_ != State::kStopped) {
    fail(why, now);
  }
}

void Node::on_link_open(Micros now) {
  if (state_ != State::kConnecting) {
    return;
  }
  state_ = State::kGreeting;
  act_at_ = now + config_.request_timeout;
  greet(now);
}

// Everything that a connection needs in one write. TIME comes last: its answer says that the rest
// has been answered.
void Node::greet(Micros now) {
  const std::string& user = config_.server.user.empty() ? "default" : config_.server.user;
  if (config_.server.password.empty() && config_.server.user.empty()) {
    write(Step::kHello, {"HELLO", "3", "SETNAME", "belay"}, now);
  } else {
    const std::string_view password = config_.server.password.view();
    bytes_.reserve(user.size() + password.size() + 200);  // so that it does not grow with it inside
    write(Step::kHello, {"HELLO", "3", "AUTH", user, password, "SETNAME", "belay"}, now);
    wipe(&bytes_);
  }
  write(Step::kId, {"CLIENT", "ID"}, now);
  if (config_.server.database != 0) {
    write(Step::kSelect, {"SELECT", std::to_string(config_.server.database)}, now);
  }
  write(Step::kSubscribe, {"SUBSCRIBE", inbox_}, now);
  write(Step::kTracking, {"CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP"}, now);
  write(Step::kInfo, {"INFO", "server"}, now);
  write(Step::kMemory, {"INFO", "memory"}, now);
  write(Step::kTime, {"TIME"}, now);
}

void Node::write(Step step, const std::vector<std::string_view>& argv, Micros now,
                 std::uint64_t id) {
  bytes_.clear();
  append_command(argv, &bytes_);
  in_flight_.push_back({step, id, now, nullptr, {}});
  link_.send(bytes_);
}

void Node::send(const Command& command, Micros now) {
  std::vector<std::string_view> argv;
  std::string key_count;
  bool loaded = false;
  if (command.script != nullptr) {
    // The first use on a connection brings the body: the server may have forgotten it, and a round
    // trip to ask is dearer.
    loaded = std::find(loaded_.begin(), loaded_.end(), command.script) != loaded_.end();
    if (!loaded) {
      loaded_.push_back(command.script);
    }
    key_count = std::to_string(command.keys.size());
    argv.reserve(3 + command.keys.size() + command.args.size());
    argv.emplace_back(loaded ? "EVALSHA" : "EVAL");
    argv.emplace_back(loaded ? command.script->sha1 : command.script->body);
    argv.emplace_back(key_count);
  }
  argv.insert(argv.end(), command.keys.begin(), command.keys.end());
  argv.insert(argv.end(), command.args.begin(), command.args.end());
  std::string mark = command.script != nullptr ? mark_of(++calls_) : std::string();
  if (command.script != nullptr) {
    mark += loaded ? "" : "?";  // the rights are checked once a connection
    argv.emplace_back(mark);
  }
  write(Step::kCommand, argv, now, command.id);
  in_flight_.back().script = command.script;
  in_flight_.back().mark = std::move(mark);
}

// The server watches what a command after CLIENT CACHING YES reads.
void Node::watch(std::uint64_t id, const std::vector<std::string_view>& keys, Micros now) {
  write(Step::kCaching, {"CLIENT", "CACHING", "YES"}, now);
  std::vector<std::string_view> argv = {"EXISTS"};
  argv.insert(argv.end(), keys.begin(), keys.end());
  write(Step::kWatch, argv, now, id);
}

void Node::refresh_clock(Micros now) {
  if (!std::exchange(clock_asked_, true)) {
    write(Step::kClock, {"TIME"}, now);
  }
}

void Node::saw_time(Micros server, Micros sent, Micros now) {
  if (sent == 0) {
    clock_.notice(server, now);
  } else {
    clock_.sample(server, sent, now);
  }
}

void Node::on_link_bytes(std::string_view bytes, Micros now) {
  const std::string wrong = reader_.feed(bytes, [this, now](Reply reply) {
    const bool live = state_ == State::kGreeting || up();
    return live && (reply.is_push() ? on_push(reply, now) : on_reply(reply, now));
  });
  if (const std::size_t large = reader_.take_passed_over(); large > 0) {
    dropped_messages(large, now);
  }
  if (!wrong.empty() && (state_ == State::kGreeting || up())) {
    fail({BELAY_UNAVAILABLE, display() + " sent what is not the Redis protocol: " + wrong}, now);
  }
}

// Returns false if the connection is gone.
bool Node::on_push(Reply push, Micros now) {
  const std::string_view kind = push.size() > 0 ? push.at(0).text() : std::string_view();
  if (kind == "message" && push.size() == 3 && push.at(1).text() == inbox_) {
    if (up()) {
      events_->on_node_message(*this, push.at(2).text(), now);
    }
  } else if (kind == "subscribe") {
    if (in_flight_.empty() || in_flight_.front().step != Step::kSubscribe) {
      return refuse(now);
    }
    in_flight_.pop_front();
  } else if (kind == "invalidate" && push.size() == 2) {
    on_invalidated(push.at(1), now);
  }
  return state_ == State::kGreeting || up();
}

void Node::dropped_messages(std::size_t count, Micros now) {
  dropped_ += count;
  all_dropped_ += count;
  if (now < tell_dropped_at_ || !log_.enabled(BELAY_LOG_WARNING)) {
    return;
  }
  tell_dropped_at_ = now + kTellDropped;
  log_.write(BELAY_LOG_WARNING,
             "dropped " + std::to_string(std::exchange(dropped_, 0)) +
                 " messages in this client's inbox on " + display() +
                 " that no script of Belay sent: somebody else may publish there");
}

void Node::on_invalidated(Reply keys, Micros now) {
  if (up() && keys.is_null()) {
    events_->on_node_flushed(*this, now);
  }
  for (std::size_t i = 0; i < keys.size() && up(); ++i) {
    events_->on_node_changed(*this, keys.at(i).text(), now);
  }
}

// What comes is believed to belong to the oldest command only as far as it can: should one reply be
// one too many, or missing, those after it are other commands'. A script's repeats the mark of its
// call; the others' types tell before a script's is due. An error may be anybody's: nobody holds
// anything by it.
bool Node::can_answer(Step step, Reply reply) {
  switch (step) {
    case Step::kHello:
      return reply.is_array();
    case Step::kId:
    case Step::kKill:
    case Step::kWatch:
      return reply.is_integer();
    case Step::kSelect:
    case Step::kTracking:
    case Step::kCaching:
      return reply.is_status();
    case Step::kSubscribe:
      return false;
    case Step::kInfo:
    case Step::kMemory:
      return reply.is_string();
    case Step::kCommand:
      return reply.is_status() || reply.is_array();
    default:  // on_time looks closer
      return true;
  }
}

bool Node::refuse(Micros now) {
  fail({BELAY_UNAVAILABLE, display() + " sent a reply that belongs to no command of ours"}, now);
  return false;
}

bool Node::on_reply(Reply whole, Micros now) {
  if (in_flight_.empty()) {
    return refuse(now);
  }
  answered_at_ = now;
  const Sent sent = std::move(in_flight_.front());
  in_flight_.pop_front();
  Reply reply = whole;
  if (sent.script != nullptr && !whole.is_error()) {
    const std::optional<Reply> marked = whole.without(sent.mark);
    if (!marked) {
      return refuse(now);
    }
    reply = *marked;
  } else if (!whole.is_error() && !can_answer(sent.step, whole)) {
    return refuse(now);
  }
  round_trips_.sample(sent.at, now);
  if (up()) {
    return on_command_reply(sent, reply, now);
  }
  return on_greeting(sent.step, reply, sent.at, now);
}

bool Node::on_command_reply(const Sent& sent, Reply reply, Micros now) {
  if (reply.is_error()) {
    const ServerError error = classify_error(reply.text());
    if (error.remedy == Remedy::kReconnect) {
      fail(refusal("", reply.text()), now);
      return false;
    }
    if (error.remedy == Remedy::kAskAgain || error.status == BELAY_NOT_PERMITTED) {
      std::erase(loaded_, sent.script);
    }
  }
  failures_ = 0;
  if (sent.step == Step::kClock) {
    clock_asked_ = false;
    if (!on_time(reply, sent.at, now)) {
      return false;
    }
    events_->on_node_clock(*this, now);
  } else if (sent.step == Step::kCommand || sent.step == Step::kWatch) {
    events_->on_node_reply(*this, sent.id, reply, sent.at, now);
  }
  return up();
}

Status Node::refusal(std::string_view during, std::string_view words) const {
  const std::string at = during.empty() ? display() : display() + " (" + std::string(during) + ")";
  return {classify_error(words).status, at + ": " + explained(words)};
}

std::string Node::explained(std::string_view words) const {
  const std::int32_t status = classify_error(words).status;
  if (status != BELAY_AUTH_FAILED && status != BELAY_NOT_PERMITTED) {
    return std::string(words);
  }
  const std::string& user = config_.server.user.empty() ? "default" : config_.server.user;
  return std::string(words) + " (user '" + user + "')";
}

Status Node::check_server(Reply hello) const {
  if (hello.is_error()) {
    const std::string_view words = hello.text();
    if (words.starts_with("ERR unknown command") || words.starts_with("NOPROTO")) {
      return {BELAY_UNSUPPORTED_SERVER,
              display() + " is older than Redis " + std::string(kOldestServer)};
    }
    Status status = refusal("HELLO", words);
    if (status.code == BELAY_SERVER_ERROR) {
      status.code = BELAY_UNAVAILABLE;  // such as too many clients: it may pass
    }
    return status;
  }
  const std::string_view version = field_of(hello, "version");
  if (version_number(version) < version_number(kOldestServer)) {
    return {BELAY_UNSUPPORTED_SERVER, display() + " has version '" +
                                          config_.server.masked(version) + "', at least " +
                                          std::string(kOldestServer) + " is needed"};
  }
  if (const std::string_view role = field_of(hello, "role"); role == "replica" || role == "slave") {
    return {BELAY_UNAVAILABLE, display() + " is a replica: it takes no locks"};
  }
  return {};
}

bool Node::on_greeting(Step step, Reply reply, Micros sent, Micros now) {
  Status status;
  switch (step) {
    case Step::kHello:
      status = check_server(reply);
      break;
    case Step::kId:
      connection_id_ = reply.integer();
      break;
    case Step::kSelect:
    case Step::kSubscribe:
      if (reply.is_error()) {
        status = refusal(step == Step::kSelect ? "SELECT" : "SUBSCRIBE", reply.text());
      }
      break;
    case Step::kTracking:  // where it is refused, the next renewal tells of lost data
      tracking_ = !reply.is_error();
      break;
    case Step::kInfo:
      run_id_ = line_of(reply.text(), "run_id:");
      break;
    case Step::kMemory:
      warn_of_eviction(reply.text());
      break;
    case Step::kTime:
      return on_time(reply, sent, now) && finish_greeting(now);
    case Step::kKill:
      ghosts_ = ghosts_ || reply.is_error();
      if (in_flight_.empty()) {
        become_up(now);
      }
      break;
    default:
      break;
  }
  if (!status.ok()) {
    fail(status, now);
    return false;
  }
  return true;
}

// Without the server's time nothing can be acquired: a connection that does not tell it is of no
// use.
bool Node::on_time(Reply reply, Micros sent, Micros now) {
  const Micros time = time_of(reply);
  if (time == 0) {
    fail(refusal("TIME", reply.is_error() ? reply.text() : "ERR no time in the reply"), now);
    return false;
  }
  clock_.sample(time, sent, now);
  return true;
}

// All records carry an expiry: any eviction policy may take them.
void Node::warn_of_eviction(std::string_view info) const {
  const std::string_view policy = line_of(info, "maxmemory_policy:");
  const std::string_view limit = line_of(info, "maxmemory:");
  if (log_.enabled(BELAY_LOG_WARNING) && policy != "noeviction" && limit != "0" && !limit.empty()) {
    log_.write(BELAY_LOG_WARNING, display() +
                                      " may evict locks that are held: its maxmemory-policy is " +
                                      config_.server.masked(policy) + ", use noeviction");
  }
}

// Rule 13: what older connections may still deliver is killed before anything new is sent. Another
// run of the server knows nothing of them; but it may be another server behind the same address,
// and theirs come back.
bool Node::finish_greeting(Micros now) {
  ghosts_ = false;
  if (run_id_.empty() || connection_id_ == 0) {
    ghosts_ = !old_.empty();
    old_.clear();
  }
  act_at_ = now + config_.request_timeout;
  for (const Connection& old : old_) {
    if (old.run_id == run_id_) {
      write(Step::kKill, {"CLIENT", "KILL", "ID", std::to_string(old.id)}, now);
    }
  }
  if (in_flight_.empty()) {
    become_up(now);
    return up();
  }
  return true;
}

void Node::become_up(Micros now) {
  state_ = State::kUp;
  act_at_ = kNever;
  std::erase_if(old_, [this](const Connection& old) { return old.run_id == run_id_; });
  trouble_ = Status();
  if (log_.enabled(BELAY_LOG_INFO)) {
    log_.write(BELAY_LOG_INFO, "connected to " + display());
  }
  events_->on_node_up(*this, now);
}

}  // namespace belay
