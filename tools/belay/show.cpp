// The subcommands that look and leave. They use the blocking calls of the library on one thread,
// and signals end them as they end any program: nothing is held that would have to be released.
#include "show.h"

#include <algorithm>

#include "exit_codes.h"
#include "list.h"
#include "member.h"
#include "report.h"
#include "text.h"

namespace {

std::int64_t size_of(const std::string& name) {
  return static_cast<std::int64_t>(name.size());
}

// Why the holder that was asked for cannot be broken; "" where it can.
std::string refusal(const ShowOptions& options, const Members& members) {
  if (members.to_go) {
    return "";
  }
  if (members.holders.empty()) {
    return "is free, nothing was broken";
  }
  const bool known =
      std::any_of(members.holders.begin(), members.holders.end(),
                  [&options](const Member& member) { return member.fence == options.fence; });
  if (options.fence != 0 && !known) {
    return "is held with fence " + std::to_string(members.holders[0].fence) +
           ", nothing was broken";
  }
  return "";
}

// Of those who hold a name together each may have one of its own.
std::vector<std::int64_t> fences_to_break(const ShowOptions& options, const Members& members) {
  if (options.fence != 0 || members.holders.empty()) {
    return {options.fence};
  }
  std::vector<std::int64_t> fences;
  for (const Member& member : members.holders) {
    fences.push_back(member.fence);
  }
  std::sort(fences.begin(), fences.end());
  fences.erase(std::unique(fences.begin(), fences.end()), fences.end());
  return fences;
}

void add(const Members& more, Members& parted) {
  parted.to_go = more.to_go;
  parted.holders.insert(parted.holders.end(), more.holders.begin(), more.holders.end());
}

int report_broken(const ShowOptions& options, const Members& parted, const std::string& why_not) {
  const bool broken = !parted.holders.empty() || parted.to_go;
  const int exit_code = broken ? kExitOk : kExitConflict;
  if (options.json) {
    return print(broken_json(options.name, parted) + "\n", exit_code);
  }
  const std::string who = parted.holders.size() == 1 ? "its holder" : "its holders";
  const std::string what = parted.to_go ? "was ended" : broken ? "was taken from " + who : why_not;
  return print(printable(options.name) + ": " + what + "\n", exit_code);
}

}  // namespace

int inspect(const ShowOptions& options) {
  const Client client = open_client(options.server);
  if (!client) {
    return kExitUsage;
  }
  belay_event* result = nullptr;
  const std::int32_t status =
      belay_inspect(client.get(), options.name.data(), size_of(options.name), &result);
  const Event event(result);
  if (status != BELAY_OK) {
    return fail(status, event.get());
  }
  const Members members = read_members(event.get());
  const std::string text = options.json ? inspected_json(options.name, members) + "\n"
                                        : inspected_text(options.name, members);
  return print(text, kExitOk);
}

int list(const ShowOptions& options) {
  const Client client = open_client(options.server);
  if (!client) {
    return kExitUsage;
  }
  belay_event* result = nullptr;
  const std::int32_t status =
      belay_list(client.get(), options.name.c_str(), -1, options.limit, &result);
  const Event event(result);
  if (status != BELAY_OK) {
    return fail(status, event.get());
  }
  const InUse in_use = inspect_all(client.get(), read_names(event.get()));
  const std::string text =
      options.json ? in_use_json_lines(in_use.entries) : in_use_table(in_use.entries);
  const int exit_code = print(text, in_use.exit_code);
  const std::int64_t total = belay_event_int(event.get(), BELAY_FIELD_TOTAL);
  if (total > belay_event_int(event.get(), BELAY_FIELD_MEMBERS)) {
    complain("only " + std::to_string(options.limit) + " names of at least " +
             std::to_string(total) + " are shown; --limit shows more");
  }
  return exit_code;
}

int break_lock(const ShowOptions& options) {
  const Client client = open_client(options.server);
  if (!client) {
    return kExitUsage;
  }
  belay_event* result = nullptr;
  std::int32_t status =
      belay_inspect(client.get(), options.name.data(), size_of(options.name), &result);
  const Event before(result);
  if (status != BELAY_OK) {
    return fail(status, before.get());
  }
  const Members members = read_members(before.get());
  const std::string why_not = refusal(options, members);
  if (!why_not.empty()) {
    return report_broken(options, {}, why_not);
  }
  if (!options.json) {
    print(holder_line(options.name, members), kExitOk);
  }
  Members parted;
  for (const std::int64_t fence : fences_to_break(options, members)) {
    result = nullptr;
    status = belay_break(client.get(), options.name.data(), size_of(options.name), fence, &result);
    const Event event(result);
    if (status != BELAY_OK) {
      return fail(status, event.get());
    }
    add(read_members(event.get()), parted);
  }
  return report_broken(options, parted, "has changed hands meanwhile, nothing was broken");
}
