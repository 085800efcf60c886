#include "section.h"

#include <stdbool.h>
#include <stdio.h>

#include "check.h"
#include "support.h"

Section* section_new(void) {
  return shared_memory(sizeof(Section));
}

static void note(Fences* fences, int64_t fence) {
  const int at = atomic_fetch_add(&fences->count, 1);
  CHECK(at < kMaxLate);
  fences->fences[at] = fence;
}

static int64_t lower(int64_t one, int64_t two) {
  return one < two ? one : two;
}

void section_pass(Section* section, belay_client* client, int64_t hold) {
  const int64_t kLongestGrantMs = 2000;
  const int64_t fence = belay_hold_fence(client, hold, 0);
  const int64_t before = atomic_exchange(&section->inside, fence);
  if (before != 0) {
    note(&section->late, lower(before, fence));
  }
  int64_t highest = section->highest;
  while (fence > highest && !atomic_compare_exchange_weak(&section->highest, &highest, fence)) {
  }
  if (fence <= highest) {
    note(&section->late, fence);
  }
  ++section->rounds;
  int64_t inside = fence;
  if (!atomic_compare_exchange_strong(&section->inside, &inside, 0) && inside != 0) {
    note(&section->late, lower(inside, fence));
  }
  const int64_t remaining = belay_hold_remaining_ms(client, hold);
  if (remaining == 0) {
    note(&section->lost, fence);
  }
  // A hold that has just been handed over has a short lease until it is confirmed.
  const int32_t status = belay_release(client, hold);
  if (remaining > kLongestGrantMs || (status != BELAY_LOST && status != BELAY_UNAVAILABLE)) {
    CHECK_STATUS(BELAY_OK, status);
  }
}

static bool contains(const Fences* fences, int64_t fence) {
  for (int i = 0; i < fences->count; ++i) {
    if (fences->fences[i] == fence) {
      return true;
    }
  }
  return false;
}

void section_check(const Section* section) {
  CHECK_INT(0, section->inside);
  for (int i = 0; i < section->late.count; ++i) {
    const int64_t fence = section->late.fences[i];
    if (!contains(&section->lost, fence)) {
      FAIL("the holder of fence %lld was there together with a later one", (long long)fence);
    }
  }
  if (section->late.count > 0) {
    printf("  %d holders came late and had lost their holds\n", section->late.count);
  }
}
