// The one table of all sides and blocks of peers: a block fills its columns. It is printed at the
// end, and written for tests/bench/plot.py. Owned by the report; used by the main thread.
#pragma once

#include <string>
#include <vector>

namespace belay::bench {

class Overview {
 public:
  // What a side did, as a number for the plot and as text for the table.
  void set(const std::string& side, const std::string& column, double value,
           const std::string& text);
  // Why a side has no figure.
  void leave_out(const std::string& side, const std::string& column, const std::string& why);

  [[nodiscard]] bool empty() const { return cells_.empty(); }

  // The first row is the heading.
  [[nodiscard]] std::vector<std::vector<std::string>> rows() const;
  // Why there are dashes.
  [[nodiscard]] std::vector<std::string> notes() const;
  // As lines: the heading, then side, column, value and text, or a dash and why, between tabs.
  [[nodiscard]] bool write(const std::string& path, const std::string& heading) const;

 private:
  struct Cell {
    std::string side;
    std::string column;
    bool known;
    double value;
    std::string text;  // or why there is none
  };

  void add(Cell cell);

  std::vector<std::string> sides_;
  std::vector<std::string> columns_;
  std::vector<Cell> cells_;
};

}  // namespace belay::bench
