// Inspects many names at once: a bounded number is in flight, and answers come in any order.
#ifndef BELAY_TOOLS_LIST_H
#define BELAY_TOOLS_LIST_H

#include <belay/belay.h>

#include <string>
#include <vector>

#include "report.h"

struct Uninspected {
  std::string name;
  std::int32_t status;
  std::string message;
};

// One at a time for a client: its tags start at 1.
class Inspector {
 public:
  Inspector(belay_client* client, std::vector<std::string> names);

  // Ask as much as may be asked now.
  void submit();
  // Take in an INSPECTED event; others are ignored.
  void on_event(const belay_event* event);

  // Whether every name has been answered for.
  [[nodiscard]] bool done() const { return submitted_ == entries_.size() && in_flight_ == 0; }

  // An entry a name that was inspected, in the order of the names; also of one that is free.
  [[nodiscard]] std::vector<Entry> take_entries();

  [[nodiscard]] const std::vector<Uninspected>& failures() const { return failures_; }

 private:
  belay_client* client_;
  std::vector<Entry> entries_;
  std::vector<bool> inspected_;
  std::vector<Uninspected> failures_;
  std::size_t submitted_ = 0;
  std::size_t in_flight_ = 0;
};

// Whether anybody holds the name or waits for it.
bool in_use(const Entry& entry);

struct InUse {
  std::vector<Entry> entries;  // by name; without those that nobody holds or waits for any more
  int exit_code = 0;
};

// Waits for all the answers. A name whose inspection fails is complained of and left out; the first
// such failure gives the exit code.
InUse inspect_all(belay_client* client, std::vector<std::string> names);

#endif
