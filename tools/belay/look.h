// The looks of belay top at a server: each lists the names in use, then inspects them. Remembers
// from look to look what tells how often holders change.
#ifndef BELAY_TOOLS_LOOK_H
#define BELAY_TOOLS_LOOK_H

#include <belay/belay.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "history.h"
#include "list.h"
#include "survey.h"

// What a look has come to: a survey, or why there is none.
struct LookResult {
  std::optional<Survey> survey;
  std::int32_t status = BELAY_OK;
  std::string why;
};

class Look {
 public:
  Look(belay_client* client, std::string pattern, std::int64_t limit)
      : client_(client), pattern_(std::move(pattern)), limit_(static_cast<std::size_t>(limit)) {}

  // Ask the server; the look before is over.
  void begin();
  // Take in an event of the client.
  void on_event(const belay_event* event);
  // The result of a look that has ended, once.
  std::optional<LookResult> take_result();

  [[nodiscard]] bool running() const { return running_; }

  [[nodiscard]] std::int64_t began_ms() const { return began_ms_; }

 private:
  void on_listed(const belay_event* event);
  void finish();
  void fail(std::int32_t status, const std::string& why);
  void end(LookResult result);

  belay_client* client_;
  std::string pattern_;
  std::size_t limit_;
  History history_;
  std::vector<std::string> names_;  // of the look that goes on: listed
  std::int64_t names_total_ = 0;
  std::optional<Inspector> inspector_;
  bool running_ = false;
  std::int64_t began_ms_ = 0;
  std::optional<std::int64_t> last_began_ms_;  // of the latest that gave a survey
  std::optional<LookResult> result_;
};

#endif
