#include "overview.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <utility>

namespace belay::bench {

namespace {

void add_new(std::vector<std::string>* names, const std::string& name) {
  if (std::find(names->begin(), names->end(), name) == names->end()) {
    names->push_back(name);
  }
}

}  // namespace

void Overview::set(const std::string& side, const std::string& column, double value,
                   const std::string& text) {
  add({side, column, std::isfinite(value), value, text});
}

void Overview::leave_out(const std::string& side, const std::string& column,
                         const std::string& why) {
  add({side, column, false, NAN, why});
}

void Overview::add(Cell cell) {
  add_new(&sides_, cell.side);
  add_new(&columns_, cell.column);
  cells_.push_back(std::move(cell));
}

std::vector<std::vector<std::string>> Overview::rows() const {
  std::vector<std::string> heading{"side"};
  heading.insert(heading.end(), columns_.begin(), columns_.end());
  std::vector<std::vector<std::string>> rows{heading};
  for (const std::string& side : sides_) {
    std::vector<std::string> row{side};
    for (const std::string& column : columns_) {
      const auto cell = std::find_if(cells_.begin(), cells_.end(), [&](const Cell& candidate) {
        return candidate.side == side && candidate.column == column;
      });
      row.push_back(cell == cells_.end() || !cell->known ? "-" : cell->text);
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<std::string> Overview::notes() const {
  std::map<std::string, std::string> sides;  // by what is to be said of them
  for (const Cell& cell : cells_) {
    if (!cell.known) {
      std::string& names = sides[cell.column + ": " + cell.text];
      names += (names.empty() ? "" : ", ") + cell.side;
    }
  }
  std::vector<std::string> notes;
  for (const auto& [what, names] : sides) {
    notes.push_back("-, " + what + " (" + names + ")");
  }
  return notes;
}

bool Overview::write(const std::string& path, const std::string& heading) const {
  std::ofstream file(path);
  file << heading << '\n';
  for (const Cell& cell : cells_) {
    file << cell.side << '\t' << cell.column << '\t';
    if (cell.known) {
      file << cell.value;
    } else {
      file << '-';
    }
    file << '\t' << cell.text << '\n';
  }
  file.close();
  return file.good();
}

}  // namespace belay::bench
