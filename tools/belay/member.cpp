// A copy of the event's members, so that the event can be freed before anything is printed.
#include "member.h"

#include "text.h"

namespace {

std::string text_of(const belay_event* event, std::int32_t index, std::int32_t field) {
  std::int64_t size = 0;
  const char* text = belay_event_member_text(event, index, field, &size);
  return {text, static_cast<std::size_t>(size)};
}

Member read_member(const belay_event* event, std::int32_t index) {
  const auto number = [event, index](std::int32_t field) {
    return belay_event_member_int(event, index, field);
  };
  return {text_of(event, index, BELAY_MEMBER_CLIENT),
          text_of(event, index, BELAY_MEMBER_LABEL),
          text_of(event, index, BELAY_MEMBER_HOST),
          number(BELAY_MEMBER_PID),
          number(BELAY_MEMBER_SINCE_MS),
          number(BELAY_MEMBER_LEASE_MS),
          number(BELAY_MEMBER_FENCE),
          number(BELAY_MEMBER_HOLDS),
          number(BELAY_MEMBER_LOCAL_WAITERS),
          number(BELAY_MEMBER_PERMITS),
          number(BELAY_MEMBER_SHARED) != 0};
}

}  // namespace

Members read_members(const belay_event* event) {
  Members members;
  for (std::int32_t i = 0; i < belay_event_int(event, BELAY_FIELD_MEMBERS); i++) {
    const std::int64_t role = belay_event_member_int(event, i, BELAY_MEMBER_ROLE);
    if (role == BELAY_ROLE_HOLDER) {
      members.holders.push_back(read_member(event, i));
    } else if (role == BELAY_ROLE_WAITER) {
      members.waiters.push_back(read_member(event, i));
    }
  }
  members.waiters_total =
      belay_event_int(event, BELAY_FIELD_TOTAL) - static_cast<std::int64_t>(members.holders.size());
  if (belay_event_int(event, BELAY_FIELD_GENERATION) != 0) {
    members.to_go = belay_event_int(event, BELAY_FIELD_COUNT);
  }
  members.primitive = static_cast<std::int32_t>(belay_event_int(event, BELAY_FIELD_PRIMITIVE));
  members.limit = belay_event_int(event, BELAY_FIELD_LIMIT);
  members.available = belay_event_int(event, BELAY_FIELD_AVAILABLE);
  members.server = belay_event_text(event, nullptr);
  members.slot = belay_event_int(event, BELAY_FIELD_SLOT);
  return members;
}

std::vector<std::string> read_names(const belay_event* event) {
  const auto count = static_cast<std::int32_t>(belay_event_int(event, BELAY_FIELD_MEMBERS));
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count; i++) {
    names.push_back(text_of(event, i, BELAY_MEMBER_NAME));
  }
  return names;
}

std::string describe(const Member& member) {
  std::string text = visible(member.host) + " pid " + std::to_string(member.pid);
  if (!member.label.empty()) {
    text += " (" + visible(member.label) + ")";
  }
  return text;
}

std::string to_go(std::int64_t count) {
  return count == 0 ? "open" : std::to_string(count) + " to go";
}

std::string describe_holders(const Members& members) {
  if (members.to_go) {
    return "latch, " + to_go(*members.to_go);
  }
  if (members.holders.empty()) {
    return "free";
  }
  const std::size_t more = members.holders.size() - 1;
  return describe(members.holders[0]) + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}
