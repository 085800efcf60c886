// Reads commands, and writes RESP replies into a string: RESP3 for connections, RESP2 for what a
// script sees.
// Plain values, no thread of its own; the string belongs to the caller.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::sim {

// How servers print a double that is no integer: Redis before 7.2 with 17 digits, later ones and
// Valkey with as few as tell it from its neighbours.
enum class Digits { kSeventeen, kShortest };

std::string_view format_double(double value, Digits digits, char (&buffer)[40]);

// Takes the first command off `bytes`; its arguments point into them. False if there is no whole
// one.
bool next_command(std::string_view& bytes, std::vector<std::string_view>& argv);

class RespWriter {
 public:
  enum class Protocol { kResp2, kResp3 };

  RespWriter(std::string& out, Protocol protocol, Digits digits = Digits::kSeventeen)
      : out_(out), protocol_(protocol), digits_(digits) {}

  [[nodiscard]] bool resp3() const { return protocol_ == Protocol::kResp3; }

  void bulk(std::string_view bytes);
  void integer(std::int64_t value);
  // One line each; line breaks inside become spaces.
  void status(std::string_view line);
  // With its code first: "ERR no such key".
  void error(std::string_view line);
  void null();
  void number(double value);

  void array(std::size_t size);
  void map(std::size_t pairs);
  void push(std::size_t size);

 private:
  void header(char type, std::int64_t value);
  void line(char type, std::string_view text);

  std::string& out_;
  Protocol protocol_;
  Digits digits_;
};

}  // namespace belay::sim
