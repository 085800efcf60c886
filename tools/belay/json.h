// A writer for one JSON object: call key() and value() or the open/close pairs in order; commas are
// put in. Bytes that are not well-formed UTF-8 become \u00NN each, so that every line is
// valid JSON; where that may mislead, the caller adds the bytes in hex beside it.
#ifndef BELAY_TOOLS_JSON_H
#define BELAY_TOOLS_JSON_H

#include <cstdint>
#include <string>
#include <string_view>

class Json {
 public:
  Json& open(char bracket);   // '{' or '['
  Json& close(char bracket);  // '}' or ']'
  Json& key(std::string_view name);
  Json& text(std::string_view bytes);
  Json& number(std::int64_t value);
  Json& decimal(double value);  // three places
  Json& boolean(bool value);
  Json& null();

  [[nodiscard]] const std::string& str() const { return out_; }

 private:
  void separate();
  void append_string(std::string_view bytes);

  std::string out_;
  bool fresh_ = true;  // nothing stands before the next item in its object or array
};

// Whether all the bytes are well-formed UTF-8.
bool is_utf8(std::string_view bytes);
// Two lower-case digits a byte.
std::string hex(std::string_view bytes);

#endif
