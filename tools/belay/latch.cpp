// Blocking calls on one thread; signals end the program as they end any other, since nothing is
// held that would have to be released. A latch that is not there has an exit code of its own: a
// script must be able to tell it from one that is open.
#include "latch.h"

#include "exit_codes.h"
#include "member.h"
#include "report.h"
#include "text.h"

namespace {

std::int64_t size_of(const std::string& name) {
  return static_cast<std::int64_t>(name.size());
}

// What a call answered: not less than 0, or minus a status.
struct Answer {
  std::int64_t value;
  Event why;
};

Answer ask(belay_client* client, const LatchOptions& options) {
  const char* name = options.name.data();
  const std::int64_t size = size_of(options.name);
  belay_event* why = nullptr;
  std::int64_t value = 0;
  if (options.verb == "set") {
    value = belay_latch_set(client, name, size, options.count, options.ttl_ms, &why);
  } else if (options.verb == "down") {
    value = belay_latch_count_down(client, name, size, options.count, &why);
  } else if (options.verb == "show") {
    value = belay_latch_count(client, name, size, &why);
  } else {
    const Request request(belay_request_new(BELAY_LATCH));
    belay_request_add_name(request.get(), name, size);
    value = belay_acquire(client, request.get(), 0, options.wait_ms, &why);
  }
  return {value, Event(why)};
}

int report_count(const LatchOptions& options, std::int64_t count) {
  if (options.json) {
    return print(latch_json(options.name, count) + "\n", kExitOk);
  }
  return print(printable(options.name) + ": " + to_go(count) + "\n", kExitOk);
}

}  // namespace

int latch(const LatchOptions& options) {
  const Client client = open_client(options.server);
  if (!client) {
    return kExitUsage;
  }
  const Answer answer = ask(client.get(), options);
  const auto status = static_cast<std::int32_t>(answer.value < 0 ? -answer.value : 0);
  const bool waited_in_vain = status == BELAY_TIMEOUT || status == BELAY_BUSY;
  if (waited_in_vain) {
    return kExitConflict;  // as belay run: the code says it all
  }
  if (status != BELAY_OK) {
    return fail(status, answer.why.get());
  }
  const bool counts = options.verb == "down" || options.verb == "show";
  return counts ? report_count(options, answer.value) : kExitOk;
}
