// What one look of belay top has found, and how it is shown: a block of lines, a JSON object, or
// the lines that fit a window. Pure but for the time of day.
#ifndef BELAY_TOOLS_SURVEY_H
#define BELAY_TOOLS_SURVEY_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report.h"
#include "window_size.h"

enum class Order : std::uint8_t { kWaiters, kHeld, kChanges };

struct Row {
  Entry entry;
  std::optional<double> changes_per_s;
};

struct Survey {
  std::int64_t names_total = 0;      // in use
  std::int64_t names_inspected = 0;  // of these
  std::int64_t changes = 0;          // of holder, since the look before
  std::optional<std::int64_t> since_last_ms;
  std::vector<Row> rows;
  std::string trouble;  // of the names that could not be read; "" where there is none
};

void sort(Survey& survey, Order order);
// A heading and a line each, closed by an empty line.
std::string survey_text(const Survey& survey);
// One object and a line end.
std::string survey_json(const Survey& survey);
// The same where a look failed.
std::string trouble_text(const std::string& trouble);
std::string trouble_json(const std::string& trouble);
// At most as many lines as the window has, each shorter than it is wide. `survey`: the last, if
// there was one; `taken`: when, in words; `trouble`: why there has been none since, or "".
std::vector<std::string> survey_screen(const std::optional<Survey>& survey,
                                       const std::string& taken, const std::string& trouble,
                                       WindowSize window);

#endif
