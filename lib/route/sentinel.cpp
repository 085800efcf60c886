#include "route/sentinel.h"

#include <charconv>
#include <utility>

#include "base/authority.h"
#include "route/server_error.h"

namespace belay {

namespace {

// A sentinel tells of a failover as soon as it knows; what it told may have been lost.
constexpr Micros kAskEvery = 2 * kSecond;
constexpr Micros kSeekEvery = 200 * kMillisecond;

// The first comes when the new master serves, the second when all sentinels are to know.
constexpr const char* kPromoted = "+promoted-slave";
constexpr const char* kSwitched = "+switch-master";

std::optional<std::int64_t> number_of(std::string_view digits) {
  std::int64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  return error == std::errc() && stop == end && number >= 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

Sentinel::Sentinel(const Config& config, const std::string& master, std::uint64_t seed,
                   std::shared_ptr<Link> link, Log& log)
    : config_(config),
      master_(master),
      us_{config.sentinel_user, config.sentinel_password},
      log_(log),
      backoff_(seed),
      link_(std::move(link)) {}

void Sentinel::start(std::function<void(Micros now)> on_news, Micros now) {
  on_news_ = std::move(on_news);
  state_ = State::kWaiting;
  act_at_ = now;
}

void Sentinel::stop() {
  state_ = State::kStopped;
  act_at_ = kNever;
  in_flight_.clear();
  link_->close();
}

// ---- Time

Micros Sentinel::next_deadline(bool sought) const {
  return state_ != State::kOpen ? act_at_
         : in_flight_.empty()   ? asked_at_ + (sought ? kSeekEvery : kAskEvery)
                                : in_flight_.front().at + patience();
}

void Sentinel::on_timer(bool sought, Micros now) {
  if (now < next_deadline(sought)) {
    return;
  }
  const std::string limit = std::to_string(to_ms(patience())) + " ms";
  if (state_ == State::kWaiting) {
    connect(now);
  } else if (state_ == State::kConnecting) {
    fail({BELAY_UNAVAILABLE, link_->attempt() + " did not come about within " + limit}, now);
  } else if (!in_flight_.empty()) {
    fail({BELAY_UNAVAILABLE, display() + " did not answer within " + limit}, now);
  } else {
    ask(now);
  }
}

// ---- The connection

void Sentinel::connect(Micros now) {
  state_ = State::kConnecting;
  act_at_ = now + link_->patience(patience());
  reader_.reset();
  link_->open();
}

void Sentinel::on_link_open(Micros now) {
  if (state_ == State::kConnecting) {
    state_ = State::kOpen;
    greet(now);
    ask(now);
  }
}

void Sentinel::on_link_closed(const Status& why, Micros now) {
  if (state_ == State::kConnecting || state_ == State::kOpen) {
    fail(why, now);
  }
}

void Sentinel::fail(Status why, Micros now) {
  link_->close();
  in_flight_.clear();
  opinion_.reset();
  state_ = State::kWaiting;
  act_at_ = now + backoff_.next();
  if (why.message != trouble_.message && log_.enabled(BELAY_LOG_WARNING)) {
    log_.write(BELAY_LOG_WARNING, "sentinels: " + why.message);
  }
  trouble_ = std::move(why);
  on_news_(now);
}

void Sentinel::write(Step step, const std::vector<std::string_view>& argv, Micros now) {
  std::string bytes;
  append_command(argv, &bytes);
  in_flight_.push_back({step, now});
  link_->send(bytes);
  wipe(&bytes);  // a password may be in it
}

void Sentinel::greet(Micros now) {
  if (us_.password.empty() && us_.user.empty()) {
    write(Step::kHello, {"HELLO", "3"}, now);
  } else {
    const std::string_view user = us_.user.empty() ? "default" : std::string_view(us_.user);
    write(Step::kHello, {"HELLO", "3", "AUTH", user, us_.password.view()}, now);
  }
  for (const char* const channel : {kPromoted, kSwitched}) {
    write(Step::kSubscribe, {"SUBSCRIBE", channel}, now);
  }
}

void Sentinel::ask(Micros now) {
  asked_at_ = now;
  ask_again_ = false;
  write(Step::kAddress, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_}, now);
  write(Step::kMaster, {"SENTINEL", "MASTER", master_}, now);
}

// ---- What it says

void Sentinel::on_link_bytes(std::string_view bytes, Micros now) {
  if (state_ != State::kOpen) {
    return;
  }
  const std::string wrong = reader_.feed(bytes, [this, now](Reply reply) {
    hear(reply, now);
    return state_ == State::kOpen;
  });
  static_cast<void>(reader_.take_passed_over());
  if (!wrong.empty()) {
    fail({BELAY_UNAVAILABLE, display() + " sent what is not the Redis protocol: " + wrong}, now);
  }
}

void Sentinel::hear(Reply reply, Micros now) {
  if (reply.is_push()) {
    on_push(reply, now);
  } else if (in_flight_.empty()) {
    fail({BELAY_UNAVAILABLE, display() + " sent a reply that belongs to no command of ours"}, now);
  } else {
    const Step step = in_flight_.front().step;
    in_flight_.pop_front();
    on_reply(step, reply, now);
    if (state_ == State::kOpen && in_flight_.empty() && ask_again_) {
      ask(now);
    }
  }
}

void Sentinel::on_push(Reply push, Micros now) {
  const std::string_view kind = push.size() > 0 ? push.at(0).text() : std::string_view();
  if (kind == "subscribe" && !in_flight_.empty() && in_flight_.front().step == Step::kSubscribe) {
    in_flight_.pop_front();
  }
  if (kind != "message") {
    return;
  }
  ask_again_ = true;
  if (in_flight_.empty()) {
    ask(now);
  }
}

// A sentinel that tells of no changes is asked all the same.
void Sentinel::on_reply(Step step, Reply reply, Micros now) {
  if (step == Step::kHello) {
    if (Status wrong = check_hello(reply); !wrong.ok()) {
      fail(std::move(wrong), now);
    }
  } else if (step == Step::kAddress) {
    on_address(reply);
  } else if (step == Step::kMaster) {
    on_master(reply, now);
  }
}

Status Sentinel::check_hello(Reply hello) const {
  if (hello.is_error()) {
    return refusal(hello.text());
  }
  return hello.text_of("mode") == "sentinel"
             ? Status()
             : Status(BELAY_UNSUPPORTED_SERVER, display() +
                                                    " is no sentinel: the URL of a server is " +
                                                    link_->endpoint().scheme() + "://" + display());
}

Status Sentinel::refusal(std::string_view words) const {
  const std::int32_t status = classify_error(words).status;
  return {status, display() + ": " + explained(words, us_) +
                      (status == BELAY_AUTH_FAILED ? "; for sentinels, set sentinel_password, not "
                                                     "the URL's password"
                                                   : "")};
}

void Sentinel::on_address(Reply reply) {
  address_.reset();
  no_address_ = reply.is_error()
                    ? refusal(reply.text())
                    : Status(BELAY_UNAVAILABLE, display() + " names no address and epoch");
  const auto port = reply.size() == 2 ? number_of(reply.at(1).text()) : std::nullopt;
  if (port && *port >= 1 && *port <= 65535 && is_host(reply.at(0).text())) {
    address_ = Endpoint{std::string(reply.at(0).text()), static_cast<std::uint16_t>(*port), "",
                        link_->endpoint().tls};
  }
}

void Sentinel::on_master(Reply reply, Micros now) {
  backoff_.reset();
  const auto epoch = number_of(reply.text_of("config-epoch"));
  if (address_ && epoch) {
    opinion_ = Opinion{*address_, *epoch};
    trouble_ = Status();
  } else {
    opinion_.reset();
    trouble_ = reply.is_error() ? refusal(reply.text()) : no_address_;
  }
  on_news_(now);
}

}  // namespace belay
