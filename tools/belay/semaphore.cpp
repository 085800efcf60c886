// Blocking calls on one thread; signals end the program as they end any other, since nothing is
// held that would have to be released.
#include "semaphore.h"

#include "exit_codes.h"
#include "report.h"
#include "text.h"

namespace {

std::int64_t size_of(const std::string& name) {
  return static_cast<std::int64_t>(name.size());
}

int set_limit(belay_client* client, const SemaphoreOptions& options) {
  belay_event* why = nullptr;
  const std::int32_t status = belay_semaphore_set_limit(client, options.name.data(),
                                                        size_of(options.name), options.limit, &why);
  const Event event(why);
  return status == BELAY_OK ? kExitOk : fail(status, event.get());
}

int show_limit(belay_client* client, const SemaphoreOptions& options) {
  belay_event* why = nullptr;
  const std::int64_t available =
      belay_semaphore_available(client, options.name.data(), size_of(options.name), &why);
  const Event event(why);
  if (available < 0) {
    return fail(static_cast<std::int32_t>(-available), event.get());
  }
  const std::int64_t limit = belay_event_int(event.get(), BELAY_FIELD_LIMIT);
  if (options.json) {
    return print(semaphore_json(options.name, available, limit) + "\n", kExitOk);
  }
  return print(printable(options.name) + ": " + std::to_string(available) + " of " +
                   std::to_string(limit) + " free\n",
               kExitOk);
}

}  // namespace

int semaphore(const SemaphoreOptions& options) {
  const Client client = open_client(options.server);
  if (!client) {
    return kExitUsage;
  }
  return options.verb == "set" ? set_limit(client.get(), options)
                               : show_limit(client.get(), options);
}
