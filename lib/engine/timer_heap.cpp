#include "engine/timer_heap.h"

namespace belay {

void TimerHeap::set(Timer& timer, Micros at) {
  const std::size_t place = timer.place;
  timer.at = at;
  if (place == Timer::kNowhere) {
    if (at != kNever) {
      heap_.push_back(&timer);
      rise(heap_.size() - 1);
    }
    return;
  }
  if (at != kNever) {
    rise(place);
    sink(timer.place);
    return;
  }
  Timer* last = heap_.back();
  heap_.pop_back();
  timer.place = Timer::kNowhere;
  if (last != &timer) {
    put(place, last);
    rise(place);
    sink(last->place);
  }
}

void TimerHeap::put(std::size_t place, Timer* timer) {
  heap_[place] = timer;
  timer->place = place;
}

void TimerHeap::rise(std::size_t place) {
  Timer* timer = heap_[place];
  while (place > 0 && timer->at < heap_[(place - 1) / 2]->at) {
    put(place, heap_[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  put(place, timer);
}

void TimerHeap::sink(std::size_t place) {
  Timer* timer = heap_[place];
  while (2 * place + 1 < heap_.size()) {
    std::size_t child = 2 * place + 1;
    if (child + 1 < heap_.size() && heap_[child + 1]->at < heap_[child]->at) {
      ++child;
    }
    if (heap_[child]->at >= timer->at) {
      break;
    }
    put(place, heap_[child]);
    place = child;
  }
  put(place, timer);
}

}  // namespace belay
