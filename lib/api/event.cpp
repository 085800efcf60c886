// Events of the C API: reads of what the engine put together.
#include "api/handles.h"

namespace {

// NULL is an event that says so.
const belay::Event& rep_of(const belay_event* event) {
  static const belay::Event& none = *[] {
    auto* misuse = new belay::Event;
    misuse->status = belay::Status(BELAY_INVALID_ARGUMENT, "the event was NULL");
    return misuse;
  }();
  return event == nullptr ? none : event->rep;
}

const belay::Member* member_at(const belay_event* event, std::int32_t index) {
  const auto& members = rep_of(event).members;
  const bool listed = index >= 0 && static_cast<std::size_t>(index) < members.size();
  return listed ? &members[static_cast<std::size_t>(index)] : nullptr;
}

constexpr std::int32_t kFields = BELAY_FIELD_SLOT + 1;

std::int64_t number_of(const belay::Event& event, std::int32_t field) {
  switch (field) {
    case BELAY_FIELD_KIND:
      return event.kind;
    case BELAY_FIELD_TAG:
      return event.tag;
    case BELAY_FIELD_STATUS:
      return event.status.code;
    case BELAY_FIELD_HOLD:
      return event.hold;
    case BELAY_FIELD_FENCE:
      return event.fences.empty() ? event.fence : event.fences.front();
    case BELAY_FIELD_REMAINING_MS:
      return belay::to_ms(event.remaining);
    case BELAY_FIELD_IN_DOUBT_MS:
      // Rounded up: what may still matter is never said to be over too early.
      return belay::to_ms(event.in_doubt + belay::kMillisecond - 1);
    case BELAY_FIELD_REASON:
      return event.status.reason;
    case BELAY_FIELD_PERMITS:
      return event.permits;
    case BELAY_FIELD_COUNT:
      return event.count;
    case BELAY_FIELD_GENERATION:
      return event.generation;
    case BELAY_FIELD_AVAILABLE:
      return event.available;
    case BELAY_FIELD_LIMIT:
      return event.limit;
    case BELAY_FIELD_MEMBERS:
      return static_cast<std::int64_t>(event.members.size());
    case BELAY_FIELD_TOTAL:
      return event.member_total;
    case BELAY_FIELD_PRIMITIVE:
      return event.primitive;
    case BELAY_FIELD_LEVEL:
      return event.level;
    case BELAY_FIELD_TIME_MS:
      return event.time_ms;
    case BELAY_FIELD_DROPPED:
      return event.dropped;
    case BELAY_FIELD_SLOT:
      return event.slot;
    default:
      return 0;
  }
}

}  // namespace

void belay_event_free(belay_event* event) {
  delete event;
}

int64_t belay_event_int(const belay_event* event, int32_t field) {
  return number_of(rep_of(event), field);
}

int32_t belay_event_read(const belay_event* event, int64_t* values, int32_t count) {
  for (std::int32_t field = 0; values != nullptr && field < count; ++field) {
    values[field] = number_of(rep_of(event), field);
  }
  return kFields;
}

int32_t belay_event_kind(const belay_event* event) {
  return rep_of(event).kind;
}

int64_t belay_event_tag(const belay_event* event) {
  return rep_of(event).tag;
}

int32_t belay_event_status(const belay_event* event) {
  return rep_of(event).status.code;
}

int64_t belay_event_hold(const belay_event* event) {
  return rep_of(event).hold;
}

int64_t belay_event_fence(const belay_event* event, int32_t index) {
  const auto& fences = rep_of(event).fences;
  if (index >= 0 && static_cast<std::size_t>(index) < fences.size()) {
    return fences[static_cast<std::size_t>(index)];
  }
  return index == 0 ? rep_of(event).fence : 0;
}

const char* belay_event_message(const belay_event* event) {
  return rep_of(event).status.message.c_str();
}

const char* belay_event_text(const belay_event* event, int64_t* size) {
  const std::string& text = rep_of(event).text;
  if (size != nullptr) {
    *size = static_cast<std::int64_t>(text.size());
  }
  return text.c_str();
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
    case BELAY_MEMBER_VALUE:
      return member->value;
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
