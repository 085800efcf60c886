#include "crowd.h"

#include <stdio.h>

#include "check.h"
#include "support.h"

static const int64_t kUnit = 1 << 16;

Crowd* crowd_new(int64_t room) {
  Crowd* crowd = shared_memory(sizeof *crowd);
  crowd->room = room;
  return crowd;
}

// Whoever comes last sees all the others.
static void look_around(Crowd* crowd) {
  int64_t seen[kCrowdPlaces];
  int64_t used = 0;
  for (int i = 0; i < kCrowdPlaces; ++i) {
    seen[i] = crowd->inside[i];
    used += seen[i] % kUnit;
  }
  int64_t most = crowd->most;
  while (used > most && !atomic_compare_exchange_weak(&crowd->most, &most, used)) {
  }
  if (used <= crowd->room) {
    return;
  }
  const int64_t at = atomic_fetch_add(&crowd->overfull, 1);
  CHECK(at < kMaxOverfull);
  for (int i = 0; i < kCrowdPlaces; ++i) {
    crowd->together[at][i] = seen[i] / kUnit;
  }
}

void crowd_pass(Crowd* crowd, int place, int64_t units, belay_client* client, int64_t hold) {
  const int64_t kLongestGrantMs = 2000;
  const int64_t visit = atomic_fetch_add(&crowd->visits, 1) + 1;
  CHECK(visit < kMaxVisits);
  crowd->inside[place] = visit * kUnit + units;
  look_around(crowd);
  nap();  // time for others to come in
  const int64_t remaining = belay_hold_remaining_ms(client, hold);
  crowd->lost[visit] = remaining == 0;
  crowd->inside[place] = 0;
  // A hold that has just been handed over has a short lease until it is confirmed.
  const int32_t status = belay_release(client, hold);
  if (remaining > kLongestGrantMs || (status != BELAY_LOST && status != BELAY_UNAVAILABLE)) {
    CHECK_STATUS(BELAY_OK, status);
  }
}

void crowd_check(const Crowd* crowd) {
  for (int64_t i = 0; i < crowd->overfull; ++i) {
    bool excused = false;
    for (int place = 0; place < kCrowdPlaces; ++place) {
      excused = excused || crowd->lost[crowd->together[i][place]];
    }
    if (!excused) {
      FAIL("more than %lld were there at once, and none had lost its hold", (long long)crowd->room);
    }
  }
  if (crowd->overfull > 0) {
    printf("  %lld times somebody came late and had lost its hold\n", (long long)crowd->overfull);
  }
}
