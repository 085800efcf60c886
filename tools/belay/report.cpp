// Text is laid out for reading and may change; JSON is for programs, and there fields are only
// added.
#include "report.h"

#include <algorithm>
#include <cstdio>

#include "exit_codes.h"
#include "text.h"

namespace {

constexpr std::size_t kWidestColumn = 48;  // a longer name or holder pushes the rest to the right

std::size_t column_width(std::size_t so_far, const std::string& text) {
  return std::max(so_far, std::min(width(text), kWidestColumn));
}

void append_client(Json& json, const Member& member) {
  json.key("client").text(member.client).key("label").text(member.label);
  json.key("host").text(member.host).key("pid").number(member.pid);
  json.key("since_ms").number(member.since_ms);
}

std::string holder_text(const Member& holder) {
  return "holder:  " + describe(holder) +  //
         "\nsince:   " + time_ago(holder.since_ms) + " (" + duration(holder.since_ms) + ")" +
         "\nfence:   " + std::to_string(holder.fence) +  //
         "\nlease:   " + seconds(holder.lease_ms) + " left" +
         "\nlocal:   " + counted(holder.holds, "hold") + ", " +
         counted(holder.local_waiters, "waiter") + ", as of its last renewal\n";
}

std::string holders_text(const Members& members) {
  if (members.to_go) {
    return "latch:   " + to_go(*members.to_go) + "\n";
  }
  std::string text;
  if (members.limit > 0) {
    text = "permits: " + std::to_string(members.available) + " of " +
           std::to_string(members.limit) + " free\n";
  }
  if (members.holders.empty()) {
    return text + "holder:  " + describe_holders(members) + "\n";
  }
  for (const Member& holder : members.holders) {
    text += (&holder == &members.holders[0] ? "" : "\n") + holder_text(holder);
  }
  return text;
}

void append_holder(Json& json, const Member& holder) {
  append_client(json.open('{'), holder);
  json.key("lease_ms").number(holder.lease_ms).key("fence").number(holder.fence);
  json.key("holds").number(holder.holds).key("local_waiters").number(holder.local_waiters);
  json.key("permits").number(holder.permits);
  json.key("shared").boolean(holder.shared).close('}');
}

// "primitive", null where the name is not in use, and what only a semaphore has.
void append_primitive(Json& json, const Members& members) {
  json.key("primitive");
  if (members.primitive == BELAY_LOCK) {
    json.text("lock");
  } else if (members.primitive == BELAY_SEMAPHORE) {
    json.text("semaphore").key("limit").number(members.limit);
    json.key("available").number(members.available);
  } else if (members.primitive == BELAY_LATCH) {
    json.text("latch");
  } else {
    json.null();
  }
}

std::string queue_text(const Members& members) {
  std::string text = "waiting: " + std::to_string(members.waiters_total) + "\n";
  std::size_t position = 0;
  for (const Member& waiter : members.waiters) {
    text += padded("  " + std::to_string(++position) + ".", 9);
    text += describe(waiter) + " for " + duration(waiter.since_ms) + "\n";
  }
  if (members.waiters_total > static_cast<std::int64_t>(members.waiters.size())) {
    text += "  ...\n";
  }
  return text;
}

// In a cluster.
std::string place_text(const Members& members) {
  return members.slot < 0 ? "" : "slot " + std::to_string(members.slot) + " at " + members.server;
}

}  // namespace

int print(const std::string& text, int exit_code) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) {
    complain("the output could not be written");
  }
  return written ? exit_code : kExitIoError;
}

std::string inspected_text(const std::string& name, const Members& members) {
  const std::string place = place_text(members);
  if (members.holders.empty() && !members.to_go && members.limit == 0 && members.waiters.empty()) {
    return printable(name) + ": free" + (place.empty() ? "" : ", " + place) + "\n";
  }
  return "name:    " + printable(name) + "\n" + (place.empty() ? "" : "place:   " + place + "\n") +
         holders_text(members) + queue_text(members);
}

std::string holder_line(const std::string& name, const Members& members) {
  if (members.holders.empty()) {
    return printable(name) + ": " + describe_holders(members) + "\n";
  }
  return printable(name) + ": held by " + describe_holders(members) + " for " +
         duration(members.holders[0].since_ms) + ", fence " +
         std::to_string(members.holders[0].fence) + "\n";
}

std::string inspected_json(const std::string& name, const Members& members) {
  Json json;
  json.open('{');
  append_name(json, name);
  append_primitive(json, members);
  json.key("server").text(members.server).key("slot");
  if (members.slot < 0) {
    json.null();
  } else {
    json.number(members.slot);
  }
  json.key("held").boolean(!members.holders.empty());
  append_holders(json, members);
  if (members.to_go) {
    json.key("to_go").number(*members.to_go);
  }
  json.key("waiters").open('[');
  for (const Member& waiter : members.waiters) {
    append_client(json.open('{'), waiter);
    json.close('}');
  }
  json.close(']').key("waiters_total").number(members.waiters_total).close('}');
  return json.str();
}

std::string broken_json(const std::string& name, const Members& parted) {
  Json json;
  json.open('{');
  append_name(json, name);
  json.key("broken").boolean(!parted.holders.empty() || parted.to_go);
  append_holders(json, parted);
  json.close('}');
  return json.str();
}

std::string latch_json(const std::string& name, std::int64_t count) {
  Json json;
  append_name(json.open('{'), name);
  json.key("count").number(count).close('}');
  return json.str();
}

std::string semaphore_json(const std::string& name, std::int64_t available, std::int64_t limit) {
  Json json;
  append_name(json.open('{'), name);
  json.key("available").number(available).key("limit").number(limit).close('}');
  return json.str();
}

void append_name(Json& json, const std::string& name) {
  json.key("name").text(name);
  if (!is_utf8(name)) {
    json.key("name_hex").text(hex(name));
  }
}

void append_holders(Json& json, const Members& members) {
  json.key("holder");
  if (members.holders.empty()) {
    json.null();
  } else {
    append_holder(json, members.holders[0]);
  }
  json.key("holders").open('[');
  for (const Member& holder : members.holders) {
    append_holder(json, holder);
  }
  json.close(']');
}

std::string in_use_table(const std::vector<Entry>& entries) {
  std::size_t name_width = 0;
  std::size_t holder_width = 0;
  for (const Entry& entry : entries) {
    name_width = column_width(name_width, printable(entry.name));
    holder_width = column_width(holder_width, describe_holders(entry.members));
  }
  std::string text;
  for (const Entry& entry : entries) {
    const std::vector<Member>& holders = entry.members.holders;
    const std::string left = holders.empty() ? "-" : seconds(holders[0].lease_ms);
    text += padded(printable(entry.name), name_width) + "  ";
    text +=
        padded(describe_holders(entry.members), holder_width) + "  " + padded("lease " + left, 13);
    text += "  " + std::to_string(entry.members.waiters_total) + " waiting\n";
  }
  return text;
}

std::string in_use_json_lines(const std::vector<Entry>& entries) {
  std::string text;
  for (const Entry& entry : entries) {
    text += inspected_json(entry.name, entry.members) + "\n";
  }
  return text;
}
