// Events of the C API: reads of what the engine put together.
#include "api/handles.h"

namespace {

const belay::Member* member_at(const belay_event* event, std::int32_t index) {
  if (event == nullptr || index < 0 ||
      static_cast<std::size_t>(index) >= event->rep.members.size()) {
    return nullptr;
  }
  return &event->rep.members[static_cast<std::size_t>(index)];
}

}  // namespace

void belay_event_free(belay_event* event) {
  delete event;
}

int32_t belay_event_kind(const belay_event* event) {
  return event == nullptr ? 0 : event->rep.kind;
}

int64_t belay_event_tag(const belay_event* event) {
  return event == nullptr ? 0 : event->rep.tag;
}

int32_t belay_event_status(const belay_event* event) {
  return event == nullptr ? BELAY_INVALID_ARGUMENT : event->rep.status.code;
}

int64_t belay_event_hold(const belay_event* event) {
  return event == nullptr ? 0 : event->rep.hold;
}

int64_t belay_event_fence(const belay_event* event, int32_t index) {
  if (event == nullptr || index < 0) {
    return 0;
  }
  const auto& fences = event->rep.fences;
  const auto at = static_cast<std::size_t>(index);
  return at < fences.size() ? fences[at] : index == 0 ? event->rep.fence : 0;
}

int64_t belay_event_remaining_ms(const belay_event* event) {
  return event == nullptr ? 0 : belay::to_ms(event->rep.remaining);
}

int64_t belay_event_permits(const belay_event* event) {
  return event == nullptr ? 0 : event->rep.permits;
}

int64_t belay_event_in_doubt_ms(const belay_event* event) {
  // Rounded up: what may still matter is never said to be over too early.
  return event == nullptr ? 0 : belay::to_ms(event->rep.in_doubt + belay::kMillisecond - 1);
}

const char* belay_event_message(const belay_event* event) {
  return event == nullptr ? "" : event->rep.status.message.c_str();
}

int64_t belay_event_int(const belay_event* event, int32_t field) {
  if (event == nullptr) {
    return 0;
  }
  switch (field) {
    case BELAY_EVENT_COUNT:
      return event->rep.count;
    case BELAY_EVENT_GENERATION:
      return event->rep.generation;
    case BELAY_EVENT_AVAILABLE:
      return event->rep.available;
    case BELAY_EVENT_LIMIT:
      return event->rep.limit;
    default:
      return 0;
  }
}

const char* belay_event_text(const belay_event* event, int64_t* size) {
  if (size != nullptr) {
    *size = event == nullptr ? 0 : static_cast<std::int64_t>(event->rep.text.size());
  }
  return event == nullptr ? "" : event->rep.text.c_str();
}

int32_t belay_event_member_count(const belay_event* event) {
  return event == nullptr ? 0 : static_cast<std::int32_t>(event->rep.members.size());
}

int64_t belay_event_member_total(const belay_event* event) {
  return event == nullptr ? 0 : event->rep.member_total;
}

int64_t belay_event_member_int(const belay_event* event, int32_t index, int32_t field) {
  const belay::Member* member = member_at(event, index);
  if (member == nullptr) {
    return 0;
  }
  switch (field) {
    case BELAY_MEMBER_ROLE:
      return member->role;
    case BELAY_MEMBER_PID:
      return member->pid;
    case BELAY_MEMBER_SINCE_MS:
      return member->since_ms;
    case BELAY_MEMBER_LEASE_MS:
      return member->lease_ms;
    case BELAY_MEMBER_FENCE:
      return member->fence;
    case BELAY_MEMBER_HOLDS:
      return member->holds;
    case BELAY_MEMBER_LOCAL_WAITERS:
      return member->local_waiters;
    case BELAY_MEMBER_PERMITS:
      return member->permits;
    case BELAY_MEMBER_SHARED:
      return member->shared ? 1 : 0;
    default:
      return 0;
  }
}

const char* belay_event_member_text(const belay_event* event, int32_t index, int32_t field,
                                    int64_t* size) {
  static const std::string& none = *new std::string;
  const belay::Member* member = member_at(event, index);
  const std::string* text = &none;
  if (member != nullptr && field == BELAY_MEMBER_NAME) {
    text = &member->name;
  } else if (member != nullptr && field == BELAY_MEMBER_CLIENT) {
    text = &member->client;
  } else if (member != nullptr && field == BELAY_MEMBER_LABEL) {
    text = &member->label;
  } else if (member != nullptr && field == BELAY_MEMBER_HOST) {
    text = &member->host;
  }
  if (size != nullptr) {
    *size = static_cast<std::int64_t>(text->size());
  }
  return text->c_str();
}
