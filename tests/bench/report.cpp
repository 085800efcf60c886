#include "report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace belay::bench {

namespace {

std::string load() {
  std::array<double, 1> average{};
  return getloadavg(average.data(), 1) == 1 ? number(average[0], 1) : "?";
}

std::string cpu_per(std::int64_t cpu_ns, std::int64_t count) {
  return count == 0 ? "-"
                    : number(static_cast<double>(cpu_ns) / 1e3 / static_cast<double>(count), 1);
}

}  // namespace

std::string number(double value, int digits) {
  if (!std::isfinite(value)) {
    return "-";
  }
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string show(const Ratio& ratio) {
  return ratio.known ? number(ratio.median, 2) + " (quartiles " + number(ratio.low, 2) + " to " +
                           number(ratio.high, 2) + ")"
                     : "-";
}

void Report::begin(const std::string& block, const std::string& what) {
  block_ = block;
  std::printf("\n%s: %s (load %s)\n", block.c_str(), what.c_str(), load().c_str());
  std::fflush(stdout);
}

void Report::table(const std::vector<Row>& rows) const {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  for (const Row& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += " " + (i == 0 ? row[i] + padding : padding + row[i]) + " ";
    }
    std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
  }
  std::fflush(stdout);
}

void Report::line(const std::string& text) const {
  std::printf("  %s\n", text.c_str());
  std::fflush(stdout);
}

void Report::sides(const std::vector<Measured>& measured, const std::string& unit,
                   Servers servers) const {
  std::vector<Row> rows{
      {"side", "p50 us", "p99 us", unit + "/s", "client CPU us/" + unit, "server CPU us/" + unit}};
  for (const Measured& side : measured) {
    rows.push_back({side.name, number(percentile(side.latencies_us, 0.5), 1),
                    number(percentile(side.latencies_us, 0.99), 1),
                    number(percentile(side.rates, 0.5), 0), cpu_per(side.client_cpu_ns, side.count),
                    cpu_per(side.server_cpu_ns, side.count)});
  }
  for (Row& row : rows) {
    row.resize(servers == Servers::kSeveral ? row.size() - 1 : row.size());
  }
  table(rows);
}

void Report::at_most(const std::string& what, const std::string& aim, double limit, bool known,
                     double value, int digits) {
  add(what, aim, known, value, digits, value <= limit);
}

void Report::at_least(const std::string& what, const std::string& aim, double limit, bool known,
                      double value, int digits) {
  add(what, aim, known, value, digits, value >= limit);
}

void Report::add(const std::string& what, const std::string& aim, bool known, double value,
                 int digits, bool met) {
  const bool measured = known && std::isfinite(value);
  aims_.push_back({block_, what, measured ? number(value, digits) : "-", aim,
                   !measured ? "not measured"
                   : met     ? "met"
                             : "NOT MET"});
}

void Report::show_overview() const {
  if (overview_.empty()) {
    return;
  }
  std::printf("\nall sides: medians, and in brackets what they are times those of c (load %s)\n",
              load().c_str());
  table(overview_.rows());
  for (const std::string& note : overview_.notes()) {
    line(note);
  }
}

void Report::summary() const {
  std::printf("\nsummary (load %s)\n", load().c_str());
  std::vector<Row> rows{{"block", "figure", "measured", "aim", ""}};
  rows.insert(rows.end(), aims_.begin(), aims_.end());
  table(rows);
}

}  // namespace belay::bench
