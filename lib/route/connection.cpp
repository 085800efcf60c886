#include "route/connection.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/contract.h"
#include "base/packing.h"
#include "route/info.h"
#include "route/server_error.h"
#include "route/slot.h"

namespace belay {

namespace {

constexpr const char* kOldestServer = "6.2";
// Of a map: each slot a range of its own, with a few replicas.
constexpr std::size_t kMostOfMap = std::size_t{kSlots} * 40;

// Major and minor of "7.0.15", to compare; a part that is no number is 0.
std::pair<long, long> version_number(const std::string& text) {
  char* end = nullptr;
  const long major = std::strtol(text.c_str(), &end, 10);
  return {major, *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0};
}

// What a call's reply repeats.
std::string mark_of(std::uint32_t call) {
  return Packer().u16(call & 0xFFFFU).u16(call >> 16U).take();
}

// Of a reply to TIME; none where it is none, or none that our messages can carry.
ServerTime time_of(Reply reply) {
  if (reply.size() != 2) {
    return {};
  }
  const std::int64_t seconds = reply.at(0).integer();
  const std::int64_t micros = reply.at(1).integer();
  const bool sane = seconds >= 0 && seconds < kMaxId / kSecond && micros >= 0 && micros < kSecond;
  return {sane ? seconds * kSecond + micros : 0};
}

}  // namespace

Connection::Connection(const Config& config, Deployment deployment, const Inbox& inbox, Link& link,
                       Log& log, std::uint32_t calls)
    : config_(config),
      deployment_(deployment),
      inbox_(inbox),
      link_(link),
      log_(log),
      reader_(deployment == Deployment::kCluster ? kMostOfMap : ReplyReader::kMostElements),
      calls_(calls) {}

void Connection::end() {
  link_.close();
  in_flight_.clear();
}

Micros Connection::deadline() const {
  const Micros since = waits_since();
  return since == kNever ? kNever : since + config_.request_timeout;
}

// A server that answers one thing after the other is slow, and no worse for a new connection.
Micros Connection::waits_since() const {
  return in_flight_.empty() ? kNever : std::max(in_flight_.front().at, answered_at_);
}

std::string Connection::read(std::string_view bytes, const std::function<bool(Reply)>& on_reply) {
  return reader_.feed(bytes, on_reply);
}

// Everything that a connection needs in one write. TIME comes last: its answer says that the rest
// has been answered.
void Connection::greet(Micros now) {
  const std::string& user = config_.credentials.user.empty() ? "default" : config_.credentials.user;
  if (config_.credentials.password.empty() && config_.credentials.user.empty()) {
    write(Step::kHello, {"HELLO", "3", "SETNAME", "belay"}, now);
  } else {
    const std::string_view password = config_.credentials.password.view();
    write(Step::kHello, {"HELLO", "3", "AUTH", user, password, "SETNAME", "belay"}, now);
    wipe(&bytes_);
  }
  write(Step::kId, {"CLIENT", "ID"}, now);
  if (config_.database != 0) {
    write(Step::kSelect, {"SELECT", std::to_string(config_.database)}, now);
  }
  // In a cluster only to see whether we may: which slots the server has is not known yet.
  write(Step::kSubscribe, {inbox_.by_slot ? "SSUBSCRIBE" : "SUBSCRIBE", inbox_.channel(0)}, now);
  write(Step::kTracking, {"CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP"}, now);
  write(Step::kInfo, {"INFO", "server"}, now);
  write(Step::kMemory, {"INFO", "memory"}, now);
  if (deployment_ == Deployment::kCluster) {
    write(Step::kMap, {"CLUSTER", "SLOTS"}, now);
  }
  write(Step::kTime, {"TIME"}, now);
}

void Connection::write(Step step, const std::vector<std::string_view>& argv, Micros now,
                       std::uint64_t id) {
  bytes_.clear();
  append_command(argv, &bytes_);
  in_flight_.push_back({step, id, now, nullptr, {}});
  link_.send(bytes_);
}

void Connection::send(const Command& command, Micros now) {
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
    argv.reserve(4 + command.keys.size() + command.args.size());
    argv.emplace_back(loaded ? "EVALSHA" : "EVAL");
    argv.emplace_back(loaded ? command.script->sha1 : command.script->body);
    argv.emplace_back(key_count);
  }
  argv.insert(argv.end(), command.keys.begin(), command.keys.end());
  argv.insert(argv.end(), command.args.begin(), command.args.end());
  std::string mark = command.script != nullptr ? mark_of(++calls_) : std::string();
  if (command.script != nullptr) {
    // The rights are checked once a connection.
    mark += loaded ? "" : "?" + inbox_.channel(slot_of(command.keys.front()));
    argv.emplace_back(mark);
  }
  write(Step::kCommand, argv, now, command.id);
  in_flight_.back().script = command.script;
  in_flight_.back().mark = std::move(mark);
}

const char* Connection::subscribe_verb() const {
  return has_shard_channels_ ? "SSUBSCRIBE" : "SUBSCRIBE";
}

void Connection::listen(std::uint16_t slot, Micros now) {
  if (!inbox_.by_slot) {
    return;
  }
  const auto [named, is_new] = listened_.try_emplace(slot, now);
  named->second = now;
  if (is_new) {
    const std::string channel = inbox_.channel(slot);
    write(Step::kListen, {subscribe_verb(), channel}, now, slot);
  }
}

// A push answers that, but MOVED does where the slot has left just now; and then the server may
// have pushed the same before. TIME, which is never refused, says where the answers end.
void Connection::stop_listening(const SlotSet& in_use, Micros since, Micros now) {
  const std::size_t before = listened_.size();
  std::erase_if(listened_, [&](const auto& entry) {
    const auto [slot, named] = entry;
    const bool ends = !in_use[slot] && named < since;
    if (ends) {
      const std::string channel = inbox_.channel(slot);
      const char* const verb = has_shard_channels_ ? "SUNSUBSCRIBE" : "UNSUBSCRIBE";
      write(Step::kStopListening, {verb, channel}, now, slot);
    }
    return ends;
  });
  if (listened_.size() < before) {
    write(Step::kClock, {"TIME"}, now);
  }
}

// The server watches what a command after CLIENT CACHING YES reads.
void Connection::watch(std::uint64_t id, const std::vector<std::string_view>& keys, Micros now) {
  write(Step::kCaching, {"CLIENT", "CACHING", "YES"}, now);
  std::vector<std::string_view> argv = {"EXISTS"};
  argv.insert(argv.end(), keys.begin(), keys.end());
  write(Step::kWatch, argv, now, id);
}

void Connection::ask_time(Micros now) {
  if (!std::exchange(time_asked_, true)) {
    write(Step::kClock, {"TIME"}, now);
  }
}

void Connection::ask_slots(Micros now) {
  if (!std::exchange(slots_asked_, true)) {
    write(Step::kNewMap, {"CLUSTER", "SLOTS"}, now);
  }
}

void Connection::ask_replication(Micros now) {
  write(Step::kReplication, {"INFO", "replication"}, now);
}

void Connection::kill(std::int64_t connection, Micros now) {
  write(Step::kKill, {"CLIENT", "KILL", "ID", std::to_string(connection)}, now);
}

// What comes is believed to belong to the oldest command only as far as it can: should one reply be
// one too many, or missing, those after it are other commands'. A script's repeats the mark of its
// call; the others' types tell before a script's is due. An error may be anybody's: nobody holds
// anything by it.
bool Connection::can_answer(Step step, Reply reply) {
  switch (step) {
    case Step::kHello:
    case Step::kMap:
    case Step::kNewMap:
      return reply.is_array();
    case Step::kId:
    case Step::kKill:
    case Step::kWatch:
      return reply.is_integer();
    case Step::kSelect:
    case Step::kTracking:
    case Step::kAsking:
    case Step::kCaching:
      return reply.is_status();
    case Step::kSubscribe:
    case Step::kListen:
      return false;
    case Step::kInfo:
    case Step::kMemory:
    case Step::kReplication:
      return reply.is_string();
    case Step::kCommand:
      return reply.is_status() || reply.is_array();
    default:  // on_time looks closer
      return true;
  }
}

Heard Connection::fail(Status why) {
  why_ = std::move(why);
  return {.what = Heard::What::kFailed};
}

Heard Connection::refuse() {
  return fail({BELAY_UNAVAILABLE,
               link_.endpoint().display() + " sent a reply that belongs to no command of ours"});
}

Heard Connection::hear(Reply reply, Micros now) {
  return reply.is_push() ? on_push(reply) : on_reply(reply, now);
}

// What answers a command: a script's reply without the mark of its call. Nothing: it answers
// another one.
std::optional<Reply> Connection::answer_in(Reply whole, const Sent& sent) {
  if (whole.is_error()) {
    return whole;
  }
  if (sent.script == nullptr) {
    return can_answer(sent.step, whole) ? std::make_optional(whole) : std::nullopt;
  }
  std::optional<Reply> marked = whole.without(sent.mark);
  if (!marked && sent.mark.size() > contract::kMarkSize) {
    marked = whole.without(sent.mark + "!");
    if (marked) {
      warn_of_unchecked_rights();
    }
  }
  return marked;
}

Heard Connection::on_reply(Reply whole, Micros now) {
  while (!whole.is_error() && !in_flight_.empty() &&
         in_flight_.front().step == Step::kStopListening) {
    in_flight_.pop_front();  // by a push
  }
  if (in_flight_.empty()) {
    return refuse();
  }
  answered_at_ = now;
  const Sent sent = std::move(in_flight_.front());
  in_flight_.pop_front();
  const std::optional<Reply> reply = answer_in(whole, sent);
  if (!reply) {
    return refuse();
  }
  Heard heard =
      sent.step < Step::kCommand ? on_greeting(sent.step, *reply) : on_command_reply(sent, *reply);
  heard.sent = sent.at;
  return heard;
}

Heard Connection::on_command_reply(const Sent& sent, Reply reply) {
  if (sent.step == Step::kListen) {
    return on_not_listening(static_cast<std::uint16_t>(sent.id), reply.text());
  }
  if (sent.step == Step::kStopListening) {
    return {};
  }
  if (reply.is_error()) {
    const ServerError error = classify_error(reply.text());
    if (error.remedy == Remedy::kReconnect) {
      met_replica_ = true;
      return fail(refusal("", reply.text()));
    }
    if (error.remedy == Remedy::kAskAgain || error.status == BELAY_NOT_PERMITTED) {
      std::erase(loaded_, sent.script);
    }
  }
  if (sent.step == Step::kClock) {
    time_asked_ = false;
    return on_time(Heard::What::kTime, reply);
  }
  if (sent.step == Step::kNewMap) {
    slots_asked_ = false;
    return reply.is_error() ? Heard() : on_slots(reply);
  }
  if (sent.step == Step::kReplication) {
    return {.what = Heard::What::kReplication, .reply = reply};
  }
  const bool is_asked_for = sent.step == Step::kCommand || sent.step == Step::kWatch;
  return {.what = is_asked_for ? Heard::What::kReply : Heard::What::kNothing,
          .reply = reply,
          .id = sent.id};
}

Status Connection::refusal(std::string_view during, std::string_view words) const {
  const std::string at = during.empty()
                             ? link_.endpoint().display()
                             : link_.endpoint().display() + " (" + std::string(during) + ")";
  return {classify_error(words).status, at + ": " + explained(words, config_.credentials)};
}

Status Connection::check_server(Reply hello) {
  if (hello.is_error()) {
    const std::string_view words = hello.text();
    if (words.starts_with("ERR unknown command") || words.starts_with("NOPROTO")) {
      return {BELAY_UNSUPPORTED_SERVER,
              link_.endpoint().display() + " is older than Redis " + kOldestServer};
    }
    Status status = refusal("HELLO", words);
    if (status.code == BELAY_SERVER_ERROR) {
      status.code = BELAY_UNAVAILABLE;  // such as too many clients: it may pass
    }
    return status;
  }
  const std::string version(hello.text_of("version"));
  if (version_number(version) < version_number(kOldestServer)) {
    return {BELAY_UNSUPPORTED_SERVER, link_.endpoint().display() + " has version '" +
                                          config_.credentials.masked(version) + "', at least " +
                                          kOldestServer + " is needed"};
  }
  has_shard_channels_ = inbox_.by_slot && version_number(version) >= version_number("7.0");
  return check_kind(hello);
}

// Whether it is what the URL says that it is.
Status Connection::check_kind(Reply hello) {
  const std::string where = link_.endpoint().display();
  const std::string_view mode = hello.text_of("mode");
  if (mode == "sentinel") {
    return {BELAY_UNSUPPORTED_SERVER, where + " is a sentinel: name it and its master, as in " +
                                          link_.endpoint().scheme() + "-sentinel://" + where +
                                          "/mymaster"};
  }
  const bool of_cluster = deployment_ == Deployment::kCluster;
  if (mode == "cluster" && !of_cluster) {
    const bool is_path = !link_.endpoint().path.empty();
    return {BELAY_UNSUPPORTED_SERVER, where + " is a node of a cluster: its URL is " +
                                          link_.endpoint().scheme() + "-cluster://" +
                                          (is_path ? "host:port" : where)};
  }
  if (of_cluster && !mode.empty() && mode != "cluster") {
    return {BELAY_UNSUPPORTED_SERVER, where + " is no node of a cluster: its URL is " +
                                          link_.endpoint().scheme() + "://" + where};
  }
  if (of_cluster) {  // a replica sends us to its master
    return {};
  }
  if (const std::string_view role = hello.text_of("role"); role == "replica" || role == "slave") {
    met_replica_ = true;
    return {BELAY_UNAVAILABLE, where + " is a replica: it takes no locks" +
                                   (deployment_ == Deployment::kSingle
                                        ? "; name its master, too, as in " +
                                              link_.endpoint().scheme() + "://master," + where
                                        : "")};
  }
  return {};
}

Heard Connection::on_greeting(Step step, Reply reply) {
  Status status;
  switch (step) {
    case Step::kHello:
      status = check_server(reply);
      break;
    case Step::kId:
      id_ = reply.integer();
      break;
    case Step::kSelect:
    case Step::kSubscribe:
      if (reply.is_error() && !may_listen(reply.text())) {
        status = refusal(step == Step::kSelect ? "SELECT" : subscribe_verb(), reply.text());
      }
      break;
    case Step::kTracking:  // where it is refused, the next renewal tells of lost data
      tracking_ = !reply.is_error();
      break;
    case Step::kInfo:
      run_id_ = info_field(reply.text(), "run_id:");
      break;
    case Step::kMemory:
      warn_of_eviction(reply.text());
      break;
    case Step::kMap:
      return reply.is_error() ? fail(refusal("CLUSTER SLOTS", reply.text())) : on_slots(reply);
    case Step::kTime:
      return on_time(Heard::What::kGreeted, reply);
    case Step::kKill:
      return {.what = Heard::What::kKilled, .reply = reply};
    default:
      break;
  }
  return status.ok() ? Heard() : fail(std::move(status));
}

// Without the server's time nothing can be acquired: a connection that does not tell it is of no
// use.
Heard Connection::on_time(Heard::What what, Reply reply) {
  const ServerTime time = time_of(reply);
  if (!time.any()) {
    return fail(refusal("TIME", reply.is_error() ? reply.text() : "ERR no time in the reply"));
  }
  return {.what = what, .server_time = time};
}

Heard Connection::on_slots(Reply reply) {
  std::optional<std::vector<SlotRange>> map = read_slot_map(reply, link_.endpoint());
  if (!map) {
    return refuse();
  }
  slots_ = std::move(*map);
  return {.what = Heard::What::kMap};
}

// All records carry an expiry: any eviction policy may take them.
void Connection::warn_of_eviction(std::string_view info) const {
  const std::string_view policy = info_field(info, "maxmemory_policy:");
  const std::string_view limit = info_field(info, "maxmemory:");
  if (log_.enabled(BELAY_LOG_WARNING) && policy != "noeviction" && limit != "0" && !limit.empty()) {
    log_.write(BELAY_LOG_WARNING, kOfSettings + link_.endpoint().display() +
                                      " may evict locks that are held: its maxmemory-policy is " +
                                      config_.credentials.masked(policy) + ", use noeviction");
  }
}

// Once a connection.
void Connection::warn_of_unchecked_rights() {
  if (!std::exchange(told_unchecked_, true) && log_.enabled(BELAY_LOG_WARNING)) {
    log_.write(BELAY_LOG_WARNING,
               link_.endpoint().display() +
                   " cannot tell which commands its user may run: a missing right "
                   "is noticed only when it is needed");
  }
}

Heard Connection::on_push(Reply push) {
  const std::string_view kind = push.size() > 0 ? push.at(0).text() : std::string_view();
  if ((kind == "message" || kind == "smessage") && push.size() == 3 && is_ours(push.at(1).text())) {
    return {.what = Heard::What::kMessage, .reply = push.at(2)};
  }
  if (kind == "invalidate" && push.size() == 2) {
    return {.what = Heard::What::kInvalidated, .reply = push.at(1)};
  }
  if (kind == "subscribe" || kind == "ssubscribe") {
    const bool is_asked_for = !in_flight_.empty() && (in_flight_.front().step == Step::kSubscribe ||
                                                      in_flight_.front().step == Step::kListen);
    if (!is_asked_for) {
      return refuse();
    }
    in_flight_.pop_front();
  }
  // By the server, which has the slot no more: what we have ended ourselves is not ours.
  if (kind == "sunsubscribe" && push.size() > 1 && is_ours(push.at(1).text())) {
    const std::uint16_t slot = slot_of(push.at(1).text());
    listened_.erase(slot);
    return {.what = Heard::What::kLeft, .slot = slot};
  }
  return {};
}

bool Connection::is_ours(std::string_view channel) const {
  const std::uint16_t slot = inbox_.by_slot ? slot_of(channel) : 0;
  return (!inbox_.by_slot || listened_.contains(slot)) && channel == inbox_.channel(slot);
}

// A node of a cluster has refused to let us listen, but only as it does not have the slot now, or
// is too old for that.
bool Connection::may_listen(std::string_view error) const {
  const bool is_too_old = !has_shard_channels_ && error.starts_with("ERR unknown command");
  return inbox_.by_slot &&
         (is_too_old || error.starts_with("MOVED ") || error.starts_with("CLUSTERDOWN"));
}

// The command behind it meets the same, unless a right is missing.
Heard Connection::on_not_listening(std::uint16_t slot, std::string_view error) {
  listened_.erase(slot);
  Status status = refusal(subscribe_verb(), error);
  const bool is_refused = belay_status_class(status.code) == BELAY_CLASS_REFUSED;
  return is_refused && !may_listen(error) ? fail(std::move(status)) : Heard();
}

}  // namespace belay
