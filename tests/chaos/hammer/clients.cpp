#include <utility>

#include "hammer/actor.h"

namespace belay::hammer {

Clients::Clients(std::string url, int count, Report& report, Witness& witness)
    : url_(std::move(url)), report_(report), witness_(witness) {
  for (int i = 0; i < count; ++i) {
    places_.push_back(make());
  }
}

std::shared_ptr<Life> Clients::make() {
  return std::make_shared<Life>(url_, kWatchdogLease, report_,
                                [this](Life& life, std::int64_t hold, const std::string& why) {
                                  if (!life.closing()) {
                                    witness_.lost(hold, why, true);
                                  }
                                });
}

std::shared_ptr<Life> Clients::at(std::int64_t place) {
  const std::lock_guard lock(mutex_);
  return places_.at(static_cast<std::size_t>(place));
}

void Clients::end(Life& life, bool by_shutdown) {
  life.announce_end();
  witness_.ends(life);
  if (by_shutdown) {
    life.shut_down();
  } else {
    life.free_at_once();
  }
  report_.count(by_shutdown ? "shutdowns" : "frees");
}

void Clients::replace(std::int64_t place, bool by_shutdown) {
  std::shared_ptr<Life> life = make();
  {
    const std::lock_guard lock(mutex_);
    std::swap(life, places_.at(static_cast<std::size_t>(place)));
  }
  end(*life, by_shutdown);
}

void Clients::end_all() {
  for (const std::shared_ptr<Life>& life : places_) {
    end(*life, true);
  }
  places_.clear();
}

}  // namespace belay::hammer
