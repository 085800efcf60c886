#include "route/sentinels.h"

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace belay {

namespace {

// What several have in common that they say, around their names.
struct Alike {
  std::string before;
  std::string who;
  std::string after;
};

void add(const std::string& words, const std::string& who, std::vector<Alike>* told) {
  const std::size_t at = words.find(who);
  if (at == std::string::npos) {
    told->push_back({words, "", ""});
    return;
  }
  const std::string before = words.substr(0, at);
  const std::string after = words.substr(at + who.size());
  for (Alike& alike : *told) {
    if (alike.before == before && alike.after == after) {
      alike.who += ", " + who;
      return;
    }
  }
  told->push_back({before, who, after});
}

}  // namespace

Sentinels::Sentinels(const Config& config, const Watched& watched, const Dial& dial,
                     std::uint64_t seed, Log& log)
    : name_(watched.master) {
  Random random(seed);
  for (const Endpoint& endpoint : watched.sentinels) {
    all_.push_back(std::make_unique<Sentinel>(config, name_, random.next(), dial(endpoint), log));
  }
}

void Sentinels::start(const std::function<void(Micros now)>& on_news, Micros now) {
  for (const auto& sentinel : all_) {
    sentinel->start(
        [this, on_news](Micros at) {
          judge();
          on_news(at);
        },
        now);
  }
}

void Sentinels::stop() {
  for (const auto& sentinel : all_) {
    sentinel->stop();
  }
}

Peer* Sentinels::at(const Link& link) {
  const auto found = std::find_if(all_.begin(), all_.end(), [&link](const auto& sentinel) {
    return sentinel->link().get() == &link;
  });
  return found == all_.end() ? nullptr : found->get();
}

void Sentinels::on_timer(bool sought, Micros now) {
  for (const auto& sentinel : all_) {
    sentinel->on_timer(sought, now);
  }
}

Micros Sentinels::next_deadline(bool sought) const {
  Micros next = kNever;
  for (const auto& sentinel : all_) {
    next = std::min(next, sentinel->next_deadline(sought));
  }
  return next;
}

void Sentinels::add_links_to_flush(Links* links) const {
  for (const auto& sentinel : all_) {
    if (sentinel->link()->take_queued()) {
      links->push_back(sentinel->link());
    }
  }
}

std::optional<Endpoint> Sentinels::master() const {
  return best_ ? std::optional(best_->master) : std::nullopt;
}

// A sentinel that is cut off from the others goes on naming the old master. So the latest failover
// counts, also after whoever told of it has gone. Only most of them together may take it back, as
// sentinels do that were set up anew.
void Sentinels::judge() {
  const Sentinel::Opinion* latest = nullptr;
  std::size_t count = 0;
  for (const auto& sentinel : all_) {
    const auto& opinion = sentinel->opinion();
    if (!opinion) {
      continue;
    }
    ++count;
    const bool stays = best_ && opinion->master.display() == best_->master.display();
    if (latest == nullptr || opinion->epoch > latest->epoch ||
        (opinion->epoch == latest->epoch && stays)) {
      latest = &*opinion;
    }
  }
  const bool older = latest != nullptr && best_ && latest->epoch < best_->epoch;
  if (latest != nullptr && (!older || 2 * count > all_.size())) {
    best_ = *latest;
  }
}

// Where all have answered, and none helps us, that has to be mended. One that cannot be reached may
// know.
Status Sentinels::trouble() const {
  std::vector<Alike> told;
  bool all_refuse = true;
  std::int32_t refusal = BELAY_OK;
  for (const auto& sentinel : all_) {
    const Status& one = sentinel->trouble();
    const std::string who = sentinel->link()->endpoint().display();
    add(one.ok() ? who + ": no answer yet" : one.message, who, &told);
    const bool refuses = belay_status_class(one.code) == BELAY_CLASS_REFUSED;
    all_refuse = all_refuse && refuses;
    refusal = refuses && refusal == BELAY_OK ? one.code : refusal;
  }
  std::string why;
  for (const Alike& alike : told) {
    why += (why.empty() ? ": " : "; ") + alike.before + alike.who + alike.after;
  }
  return {all_refuse ? refusal : BELAY_UNAVAILABLE,
          (all_.size() == 1
               ? "the sentinel does not say where '"
               : "none of the " + std::to_string(all_.size()) + " sentinels says where '") +
              name_ + "' is" + why};
}

}  // namespace belay
