#include "route/node.h"

#include <algorithm>
#include <utility>

#include "route/info.h"
#include "route/server_error.h"

namespace belay {

namespace {

constexpr Micros kTellDropped = 60 * kSecond;

}  // namespace

Node::Node(const Config& config, Deployment deployment, Inbox inbox, std::uint64_t seed,
           Links links, Log& log)
    : config_(config),
      deployment_(deployment),
      inbox_(std::move(inbox)),
      log_(log),
      backoff_(seed),
      links_(std::move(links)),
      link_(links_.front()),
      discovery_(links_.size(), deployment == Deployment::kCluster ? "lets us into a cluster"
                                                                   : "is a master for us") {}

void Node::start(NodeEvents& events, Micros now) {
  events_ = &events;
  state_ = State::kWaiting;
  act_at_ = now;
}

void Node::stop() {
  state_ = State::kStopped;
  act_at_ = kNever;
  if (connection_) {
    connection_->end();
  }
}

Micros Node::next_deadline() const {
  return connection_ ? std::min(act_at_, connection_->deadline()) : act_at_;
}

void Node::on_timer(Micros now) {
  if (now < next_deadline()) {
    return;
  }
  const Micros patience = state_ == State::kConnecting ? patience_
                          : state_ == State::kGreeting ? share()
                                                       : config_.request_timeout;
  const std::string limit = std::to_string(to_ms(patience)) + " ms";
  if (state_ == State::kWaiting) {
    connect(now);
  } else if (state_ == State::kConnecting) {
    fail({BELAY_UNAVAILABLE, link_->attempt() + " did not come about within " + limit}, now);
  } else {
    fail({BELAY_UNAVAILABLE, display() + " did not answer within " + limit}, now);
  }
}

bool Node::connected() const {
  return state_ == State::kGreeting || up();
}

bool Node::can_watch() const {
  return connection_ && connection_->tracks();
}

bool Node::has_ghosts() const {
  return ghosts_ || (!up() && !old_.empty());
}

Micros Node::distance() const {
  return round_trips_.least();
}

std::size_t Node::dropped() const {
  return all_dropped_;
}

const Endpoint& Node::goal() const {
  return links_[discovery_.at()]->endpoint();
}

std::string Node::display() const {
  return link_->endpoint().display();
}

ServerRun Node::server() const {
  return {connection_->run_id(), display()};
}

void Node::use(Micros now) {
  used_at_ = now;
  used_ = true;
}

bool Node::is_unused() const {
  return up() && !used_;
}

void Node::ask_slots(Micros now) {
  connection_->ask_slots(now);
}

// Long before a command fails for it.
Micros Node::overdue_at() const {
  const Micros patience = config_.request_timeout / 10;
  if (!trouble_.ok()) {
    return 0;
  }
  const Micros since = up() ? connection_->waits_since() : begun_at_;
  return since == kNever ? kNever : since + patience;
}

void Node::give_up(Micros now) {
  fail({BELAY_UNAVAILABLE, display() + " does not answer, and its slots are elsewhere by now"},
       now);
}

Micros Node::used_at() const {
  return used_at_;
}

void Node::set_asking(bool asking) {
  asking_ = asking;
}

bool Node::asking() const {
  return asking_;
}

bool Node::refused() const {
  return !up() && belay_status_class(trouble_.code) == BELAY_CLASS_REFUSED;
}

std::string Node::explained(std::string_view words) const {
  return belay::explained(words, config_.credentials);
}

bool Node::has(const Link& link) const {
  return std::any_of(links_.begin(), links_.end(),
                     [&link](const std::shared_ptr<Link>& one) { return one.get() == &link; });
}

// Of a request's time, what one endpoint may take: so that a round of a few fits into it. A second
// is enough for any that can be used.
Micros Node::share() const {
  const auto count = static_cast<Micros>(links_.size());
  return std::max(config_.request_timeout / count, std::min(config_.request_timeout, kSecond));
}

void Node::connect(Micros now) {
  if (const std::shared_ptr<Link>& link = links_[discovery_.at()]; link != link_) {
    link_ = link;
    round_trips_ = RoundTrips();
  }
  used_at_ = used_at_ == kNever ? now : used_at_;
  begun_at_ = now;
  state_ = State::kConnecting;
  patience_ = link_->patience(share());
  act_at_ = now + patience_;
  connection_.emplace(config_, deployment_, inbox_, *link_, log_,
                      connection_ ? connection_->calls() : 0);
  connection_->open();
}

void Node::fail(const Status& why, Micros now) {
  const bool was_up = up();
  connection_->end();
  // One that never came up carried nothing of the engine's.
  if (was_up && connection_->id() != 0) {
    old_.add(server(), connection_->id());
  }
  clock_.forget();
  state_ = State::kWaiting;
  const auto answer =
      connection_->met_replica() ? Discovery::Answer::kReplica : Discovery::Answer::kNone;
  const std::optional<Status> trouble =
      was_up ? discovery_.lost(why, answer)
             : discovery_.failed({why.code, why.message + lead_}, answer);
  if (!trouble) {
    act_at_ = now;  // at the next endpoint
    trouble_ = discovery_.knows_all() ? trouble_ : discovery_.so_far();
    return;
  }
  if (log_.enabled(BELAY_LOG_WARNING) && (was_up || trouble->message != trouble_.message)) {
    log_.write(BELAY_LOG_WARNING, trouble->message);
  }
  trouble_ = *trouble;
  const bool refused = belay_status_class(trouble_.code) == BELAY_CLASS_REFUSED;
  act_at_ = now + (refused ? Backoff::kLongest : backoff_.next());
  if (was_up) {
    events_->on_node_down(*this, now);
  }
  if (refused) {
    events_->on_node_refused(*this, now);
  }
}

void Node::move_to(std::shared_ptr<Link> link, const Status& why, std::string lead, Micros now) {
  links_ = {std::move(link)};
  discovery_ = Discovery(1);
  lead_.clear();
  if (connected() || state_ == State::kConnecting) {
    fail(why, now);
  }
  lead_ = std::move(lead);
  backoff_.reset();
  act_at_ = now;
}

void Node::on_nowhere(const Status& why, Micros now) {
  trouble_ = why;
  if (refused()) {
    events_->on_node_refused(*this, now);
  }
}

// Or it has been given up already, by whoever was faster.
void Node::on_link_closed(const Status& why, Micros now) {
  if (connected() || state_ == State::kConnecting) {
    fail(why, now);
  }
}

void Node::on_link_open(Micros now) {
  if (state_ != State::kConnecting) {
    return;
  }
  state_ = State::kGreeting;
  act_at_ = now + share();
  connection_->greet(now);
}

void Node::send(const Command& command, Micros now) {
  use(now);
  if (asking_) {
    connection_->announce_asking(now);
  }
  connection_->send(command, now);
}

// While the slot is on its way here, it is heard at the server that it leaves.
void Node::listen(std::uint16_t slot, Micros now) {
  if (!asking_) {
    connection_->listen(slot, now);
  }
}

void Node::stop_listening(const SlotSet& in_use, Micros since, Micros now) {
  connection_->stop_listening(in_use, since, now);
}

void Node::watch(std::uint64_t id, const std::vector<std::string_view>& keys, Micros now) {
  connection_->watch(id, keys, now);
}

void Node::refresh_clock(Micros now) {
  connection_->ask_time(now);
}

void Node::saw_time(ServerTime server, Micros sent, Micros now) {
  if (sent == 0) {
    clock_.notice(server, now);
  } else {
    clock_.sample(server, sent, now);
  }
}

void Node::on_link_bytes(std::string_view bytes, Micros now) {
  if (!connected()) {
    return;
  }
  const std::string wrong = connection_->read(bytes, [this, now](Reply reply) {
    on_heard(connection_->hear(reply, now), now);
    return connected();
  });
  if (const std::size_t large = connection_->take_passed_over(); large > 0) {
    dropped_messages(large, now);
  }
  if (!wrong.empty()) {
    fail({BELAY_UNAVAILABLE, display() + " sent what is not the Redis protocol: " + wrong}, now);
  }
}

void Node::on_heard(const Heard& heard, Micros now) {
  using What = Heard::What;
  if (heard.sent != kNever) {
    round_trips_.sample(heard.sent, now);
    if (up() && heard.what != What::kFailed) {
      backoff_.reset();
    }
  }
  switch (heard.what) {
    case What::kNothing:
      break;
    case What::kFailed:
      fail(connection_->why(), now);
      break;
    case What::kGreeted:
      on_greeted(heard, now);
      break;
    case What::kKilled:
      ghosts_ = ghosts_ || heard.reply.is_error();
      become_up_when_idle(now);
      break;
    case What::kReply:
      events_->on_node_reply(*this, heard.id, heard.reply, heard.sent, now);
      break;
    case What::kTime:
      clock_.sample(heard.server_time, heard.sent, now);
      events_->on_node_clock(*this, now);
      break;
    case What::kReplication:
      warn_of_failover(heard.reply);
      break;
    case What::kMap:
      events_->on_node_slots(*this, connection_->slots(), now);
      break;
    case What::kMessage:
      if (up()) {
        events_->on_node_message(*this, heard.reply.text(), now);
      }
      break;
    case What::kLeft:
      if (up()) {
        events_->on_node_left(*this, heard.slot, now);
      }
      break;
    case What::kInvalidated:
      on_invalidated(heard.reply, now);
      break;
  }
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
                 " about nothing that it asked for: somebody else may publish there, or a failover "
                 "has brought back who had given up");
}

// Once: it is for whoever set the servers up.
void Node::warn_of_failover(Reply info) {
  const std::string risk = info.is_error() ? "" : risk_of_failover(info.text());
  if (!risk.empty() && !std::exchange(told_risk_, true)) {
    log_.write(BELAY_LOG_WARNING,
               kOfSettings + display() + " may grant locks that a failover loses: " + risk);
  }
}

void Node::on_invalidated(Reply keys, Micros now) {
  if (up() && keys.is_null()) {
    events_->on_node_flushed(*this, now);
  }
  for (std::size_t i = 0; i < keys.size() && up(); ++i) {
    events_->on_node_changed(*this, keys.at(i).text(), now);
  }
}

// Nothing that was measured on another server is true of this one.
void Node::on_greeted(const Heard& heard, Micros now) {
  is_another_ = latest_ && !latest_->may_be(server());
  if (is_another_) {
    round_trips_ = RoundTrips();
    round_trips_.sample(heard.sent, now);
  }
  clock_.sample(heard.server_time, heard.sent, now);
  kill_old(now);
}

// Rule 13: what older connections may still deliver is killed before anything new is sent. Another
// run of the server knows nothing of them; but it may be another server behind the same address,
// and theirs come back.
void Node::kill_old(Micros now) {
  ghosts_ = false;
  if (connection_->run_id().empty() || connection_->id() == 0) {
    ghosts_ = old_.forget(server());
  }
  act_at_ = now + config_.request_timeout;
  for (const std::int64_t id : old_.of(server())) {
    connection_->kill(id, now);
  }
  become_up_when_idle(now);
}

void Node::become_up_when_idle(Micros now) {
  if (!connection_->idle()) {
    return;
  }
  state_ = State::kUp;
  act_at_ = kNever;
  old_.forget(server());
  latest_ = server();
  discovery_.found();
  trouble_ = Status();
  if (log_.enabled(BELAY_LOG_INFO)) {
    log_.write(BELAY_LOG_INFO,
               "connected to " + display() + (is_another_ ? ", another server than before" : ""));
  }
  if (deployment_ == Deployment::kReplicated && !told_risk_ && log_.enabled(BELAY_LOG_WARNING)) {
    connection_->ask_replication(now);
  }
  events_->on_node_up(*this, now);
}

}  // namespace belay
