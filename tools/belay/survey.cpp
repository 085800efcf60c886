// Names may be any bytes and go through printable(), labels and hosts through visible(). They may
// hold characters that are two columns wide, which nothing here counts: on the screen, each column
// is therefore begun at its place, over whatever the one before has left there, and the terminal
// does not wrap.
#include "survey.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <numeric>

#include "text.h"

namespace {

constexpr std::size_t kColumns = 7;
constexpr std::size_t kNameColumn = 0;
constexpr std::size_t kHolderColumn = 1;
constexpr std::size_t kWidestText = 48;     // without a window
constexpr std::size_t kNarrowestText = 10;  // in one: what is too much is cut off on the right
constexpr std::size_t kGap = 1;

using Cells = std::array<std::string, kColumns>;
using Widths = std::array<std::size_t, kColumns>;

const Cells& headings() {
  static const Cells kHeadings = {"NAME",    "HOLDER",  "HELD",     "LEASE",
                                  "WAITERS", "LONGEST", "CHANGES/S"};
  return kHeadings;
}

bool is_text(std::size_t column) {
  return column <= kHolderColumn;
}

std::string rate(std::optional<double> per_s) {
  if (!per_s) {
    return "-";
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", *per_s);
  return text.data();
}

std::string holder_cell(const Members& members) {
  if (members.holders.empty()) {
    return "-";
  }
  const Member& holder = members.holders[0];
  const std::size_t more = members.holders.size() - 1;
  return visible(holder.label) + "@" + visible(holder.host) + ":" + std::to_string(holder.pid) +
         (more == 0 ? "" : " +" + std::to_string(more));
}

// The queue is in the order of arrival.
std::int64_t longest_wait_ms(const Members& members) {
  return members.waiters.empty() ? 0 : members.waiters.front().since_ms;
}

Cells cells_of(const Row& row) {
  const Members& members = row.entry.members;
  const bool held = !members.holders.empty();
  return {printable(row.entry.name),
          holder_cell(members),
          held ? short_duration(members.holders[0].since_ms) : "-",
          held ? short_duration(members.holders[0].lease_ms) : "-",
          std::to_string(members.waiters_total),
          members.waiters.empty() ? "-" : short_duration(longest_wait_ms(members)),
          rate(row.changes_per_s)};
}

std::vector<Cells> table_of(const Survey& survey) {
  std::vector<Cells> table = {headings()};
  table.reserve(survey.rows.size() + 1);
  for (const Row& row : survey.rows) {
    table.push_back(cells_of(row));
  }
  return table;
}

Widths widths_of(const std::vector<Cells>& table) {
  Widths widths{};
  for (const Cells& cells : table) {
    for (std::size_t i = 0; i < kColumns; i++) {
      widths[i] = std::max(widths[i], width(cells[i]));
    }
  }
  return widths;
}

// Name and holder share what the numbers leave.
Widths fitted(Widths widths, std::size_t columns) {
  const std::size_t numbers =
      std::accumulate(widths.begin() + kHolderColumn + 1, widths.end(), (kColumns - 1) * kGap);
  const std::size_t room = columns > numbers ? columns - numbers : 0;
  std::size_t& name = widths[kNameColumn];
  std::size_t& holder = widths[kHolderColumn];
  if (name + holder > room) {
    holder = std::min(holder, std::max({room / 2, room - std::min(name, room), kNarrowestText}));
    name = std::min(name, std::max(room - std::min(holder, room), kNarrowestText));
  }
  return widths;
}

// A cut is marked.
std::string cut(const std::string& text, std::size_t columns) {
  if (width(text) <= columns || columns == 0) {
    return cut_to_width(text, columns);
  }
  return cut_to_width(text, columns - 1) + "+";
}

std::string plain_line(const Cells& cells, const Widths& widths) {
  std::string line;
  for (std::size_t i = 0; i < kColumns; i++) {
    line += i == 0 ? "" : " ";
    line += is_text(i) ? padded(cells[i], widths[i]) : padded_left(cells[i], widths[i]);
  }
  return line + "\n";
}

// Blanks fill each column up to the next, as there is an older frame below.
std::string screen_line(const Cells& cells, const Widths& widths, std::size_t columns) {
  std::string line;
  std::size_t at = 0;
  for (std::size_t i = 0; i < kColumns && at < columns; i++) {
    const std::string text = cut(cells[i], widths[i]);
    const std::string cell = is_text(i) ? padded(text, widths[i]) : padded_left(text, widths[i]);
    line += i == 0 ? "" : "\x1b[" + std::to_string(at + 1) + "G";
    line += cut_to_width(padded(cell, widths[i] + kGap), columns - at);
    at += widths[i] + kGap;
  }
  return line;
}

std::string summary(const Survey& survey) {
  std::string text = counted(survey.names_total, "name") + " in use";
  if (survey.names_inspected < survey.names_total) {
    text += " (" + std::to_string(survey.names_inspected) + " looked at)";
  }
  std::int64_t waiters = 0;
  for (const Row& row : survey.rows) {
    waiters += row.entry.members.waiters_total;
  }
  text += ", " + std::to_string(waiters) + " waiting";
  if (survey.since_last_ms) {
    const auto elapsed_ms = static_cast<double>(std::max<std::int64_t>(1, *survey.since_last_ms));
    text += ", " + rate(static_cast<double>(survey.changes) * 1000 / elapsed_ms) + " changes/s";
  }
  return text;
}

std::int64_t held_ms(const Row& row) {
  const std::vector<Member>& holders = row.entry.members.holders;
  return holders.empty() ? -1 : holders[0].since_ms;
}

std::string oldest_holder(const Survey& survey) {
  const auto oldest = std::max_element(
      survey.rows.begin(), survey.rows.end(),
      [](const Row& left, const Row& right) { return held_ms(left) < held_ms(right); });
  if (oldest == survey.rows.end() || held_ms(*oldest) < 0) {
    return "nothing is held";
  }
  return "oldest holder: " + holder_cell(oldest->entry.members) + " for " +
         duration(held_ms(*oldest)) + ", of " + in_quotes(oldest->entry.name);
}

std::int64_t unix_time_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

void append_row(Json& json, const Row& row) {
  const Members& members = row.entry.members;
  append_name(json.open('{'), row.entry.name);
  append_holders(json, members);
  json.key("waiters_total").number(members.waiters_total);
  json.key("longest_wait_ms").number(longest_wait_ms(members));
  json.key("changes_per_s");
  if (row.changes_per_s) {
    json.decimal(*row.changes_per_s);
  } else {
    json.null();
  }
  json.close('}');
}

}  // namespace

void sort(Survey& survey, Order order) {
  const auto waiters = [](const Row& row) { return row.entry.members.waiters_total; };
  const auto changes = [](const Row& row) { return row.changes_per_s.value_or(-1); };
  // To the millisecond, those that were granted together would swap places from look to look.
  const auto held_s = [](const Row& row) { return held_ms(row) / 1000; };
  std::sort(survey.rows.begin(), survey.rows.end(), [&](const Row& left, const Row& right) {
    if (order == Order::kWaiters && waiters(left) != waiters(right)) {
      return waiters(left) > waiters(right);
    }
    if (order != Order::kHeld && changes(left) != changes(right)) {
      return changes(left) > changes(right);
    }
    if (held_s(left) != held_s(right)) {
      return held_s(left) > held_s(right);
    }
    return left.entry.name < right.entry.name;
  });
}

std::string survey_text(const Survey& survey) {
  std::string text = time_ago(0) + "  " + summary(survey) + "\n";
  text += survey.trouble.empty() ? "" : survey.trouble + "\n";
  const std::vector<Cells> table = table_of(survey);
  Widths widths = widths_of(table);
  for (const std::size_t column : {kNameColumn, kHolderColumn}) {
    widths[column] = std::min(widths[column], kWidestText);
  }
  for (const Cells& cells : table) {
    text += plain_line(cells, widths);
  }
  return text + "\n";
}

std::string survey_json(const Survey& survey) {
  Json json;
  json.open('{').key("time_ms").number(unix_time_ms());
  json.key("names_total").number(survey.names_total);
  json.key("names_inspected").number(survey.names_inspected);
  json.key("changes").number(survey.changes).key("since_last_ms");
  if (survey.since_last_ms) {
    json.number(*survey.since_last_ms);
  } else {
    json.null();
  }
  json.key("names").open('[');
  for (const Row& row : survey.rows) {
    append_row(json, row);
  }
  json.close(']');
  if (!survey.trouble.empty()) {
    json.key("error").text(survey.trouble);
  }
  json.close('}');
  return json.str() + "\n";
}

std::string trouble_text(const std::string& trouble) {
  return time_ago(0) + "  " + trouble + "\n\n";
}

std::string trouble_json(const std::string& trouble) {
  Json json;
  json.open('{').key("time_ms").number(unix_time_ms()).key("error").text(trouble).close('}');
  return json.str() + "\n";
}

std::vector<std::string> survey_screen(const std::optional<Survey>& survey,
                                       const std::string& taken, const std::string& trouble,
                                       WindowSize window) {
  const std::size_t columns = window.columns - 1;
  const std::string names_trouble = survey ? survey->trouble : "";
  const std::string& news = trouble.empty() ? names_trouble : trouble;
  std::vector<std::string> lines = {
      cut("belay top  " + (survey ? taken + "  " + summary(*survey) : "asking the server"),
          columns),
      cut(survey ? oldest_holder(*survey) : "", columns),
      cut(news.empty() ? "q leaves; sort by: w waiters, h held, c changes" : news, columns)};
  const std::vector<Cells> table = survey ? table_of(*survey) : std::vector<Cells>();
  const Widths widths = fitted(widths_of(table), columns);
  for (std::size_t i = 0; i < table.size(); i++) {
    const std::string line = screen_line(table[i], widths, columns);
    lines.push_back(i == 0 ? "\x1b[7m" + line + "\x1b[m" : line);
  }
  lines.resize(std::min(lines.size(), window.rows));
  return lines;
}
