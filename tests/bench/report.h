// What is printed: a plain table a block, and the summary with the aims. Used by the main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure.h"
#include "overview.h"

namespace belay::bench {

using Row = std::vector<std::string>;

std::string number(double value, int digits);
std::string show(const Ratio& ratio);

class Report {
 public:
  void begin(const std::string& block, const std::string& what);
  // The first row is the heading.
  void table(const std::vector<Row>& rows) const;
  void line(const std::string& text) const;

  // The usual table of compared sides: percentiles, rate, CPU; of the server where it is one.
  enum class Servers : std::uint8_t { kOne, kSeveral };
  void sides(const std::vector<Measured>& measured, const std::string& unit,
             Servers servers = Servers::kOne) const;

  // A figure with an aim. `known`: false where it was not measured.
  void at_most(const std::string& what, const std::string& aim, double limit, bool known,
               double value, int digits);
  void at_least(const std::string& what, const std::string& aim, double limit, bool known,
                double value, int digits);

  Overview& overview() { return overview_; }

  // The table of all sides, if a block has filled it.
  void show_overview() const;
  void summary() const;

 private:
  void add(const std::string& what, const std::string& aim, bool known, double value, int digits,
           bool met);

  std::string block_;
  std::vector<Row> aims_;
  Overview overview_;
};

}  // namespace belay::bench
