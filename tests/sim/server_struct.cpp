// The `struct` library of a server's Lua: pack, unpack and size. Stateless; registers itself in a
// Lua state. Lua errors leave by longjmp, so no function here owns anything that needs a
// destructor.
#include "sim/server_struct.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <lua.hpp>

namespace belay::sim {
namespace {

constexpr std::size_t kMaxInteger = 32;
constexpr std::size_t kMaxAlign = 8;
constexpr std::size_t kMaxNumber = 0x7fffffff;

// A format being read: the options so far, and what is left.
struct Format {
  const char* rest;
  bool little = true;
  std::size_t align = 1;
};

// One element of a format: its letter, the bytes it takes (0 for s and c0) and the padding in
// front.
struct Element {
  char letter;
  std::size_t size;
  std::size_t padding;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t read_number(lua_State* lua, Format& format, std::size_t otherwise) {
  if (!is_digit(*format.rest)) {
    return otherwise;
  }
  std::size_t number = 0;
  while (is_digit(*format.rest)) {
    number = number * 10 + static_cast<std::size_t>(*format.rest++ - '0');
    if (number > kMaxNumber) {
      luaL_error(lua, "integral size overflow");
    }
  }
  return number;
}

std::size_t integer_size(lua_State* lua, Format& format) {
  const std::size_t size = read_number(lua, format, sizeof(int));
  if (size > kMaxInteger) {
    luaL_error(lua, "integral size %d is larger than limit of %d", static_cast<int>(size),
               static_cast<int>(kMaxInteger));
  }
  return size;
}

std::size_t size_of(lua_State* lua, Format& format, char letter) {
  switch (letter) {
    case 'B':
    case 'b':
    case 'x':
      return 1;
    case 'H':
    case 'h':
      return 2;
    case 'f':
      return 4;
    case 'L':
    case 'l':
    case 'T':
    case 'd':
      return 8;
    case 'I':
    case 'i':
      return integer_size(lua, format);
    case 'c':
      return read_number(lua, format, 1);
    default:
      return 0;
  }
}

// Reads options (byte order, alignment, blanks) up to the next element. False at the end of the
// format.
bool next_element(lua_State* lua, Format& format, std::size_t offset, Element& element) {
  while (*format.rest != '\0') {
    const char letter = *format.rest++;
    switch (letter) {
      case ' ':
        break;
      case '<':
        format.little = true;
        break;
      case '>':
        format.little = false;
        break;
      case '!':
        format.align = read_number(lua, format, kMaxAlign);
        if (format.align == 0 || (format.align & (format.align - 1)) != 0) {
          luaL_error(lua, "alignment %d is not a power of 2", static_cast<int>(format.align));
        }
        break;
      default: {
        const std::size_t size = size_of(lua, format, letter);
        const std::size_t unit = std::min(size, format.align);
        const bool aligned = unit > 1 && letter != 'c';
        element = {letter, size, aligned ? (unit - (offset & (unit - 1))) & (unit - 1) : 0};
        return true;
      }
    }
  }
  return false;
}

// As luaL_addlstring, which copies byte by byte; `size` is small.
void add_bytes(luaL_Buffer& out, const char* bytes, std::size_t size) {
  if (static_cast<std::size_t>(out.buffer + LUAL_BUFFERSIZE - out.p) < size) {
    luaL_addlstring(&out, bytes, size);
    return;
  }
  std::memcpy(out.p, bytes, size);
  luaL_addsize(&out, size);
}

void bad_letter(lua_State* lua, char letter) {
  luaL_argerror(lua, 1, lua_pushfstring(lua, "invalid format option '%c'", letter));
}

void add_integer(lua_State* lua, luaL_Buffer& out, int arg, const Format& format,
                 std::size_t size) {
  const lua_Number number = luaL_checknumber(lua, arg);
  auto bits = number < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(number))
                         : static_cast<std::uint64_t>(number);
  char bytes[kMaxInteger];
  for (std::size_t i = 0; i < size; ++i) {
    bytes[format.little ? i : size - 1 - i] = static_cast<char>(bits & 0xffU);
    bits >>= 8U;
  }
  add_bytes(out, bytes, size);
}

template <class Float>
void add_float(lua_State* lua, luaL_Buffer& out, int arg, const Format& format) {
  const auto number = static_cast<Float>(luaL_checknumber(lua, arg));
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  if (!format.little) {
    std::reverse(bytes, bytes + sizeof number);
  }
  add_bytes(out, bytes, sizeof number);
}

// Returns the bytes added.
std::size_t add_string(lua_State* lua, luaL_Buffer& out, int arg, const Element& element) {
  std::size_t length = 0;
  const char* const bytes = luaL_checklstring(lua, arg, &length);
  if (element.letter == 's') {
    luaL_addlstring(&out, bytes, length + 1);  // Lua keeps a NUL behind each string
    return length + 1;
  }
  const std::size_t size = element.size == 0 ? length : element.size;
  luaL_argcheck(lua, length >= size, arg + 1, "string too short");  // one too high, as Redis counts
  add_bytes(out, bytes, size);
  return size;
}

int pack(lua_State* lua) {
  luaL_Buffer out;
  Format format{luaL_checkstring(lua, 1)};
  Element element{};
  std::size_t total = 0;
  int arg = 2;
  lua_pushnil(lua);  // separates the arguments from what the buffer puts on the stack
  luaL_buffinit(lua, &out);
  while (next_element(lua, format, total, element)) {
    for (std::size_t i = 0; i < element.padding; ++i) {
      luaL_addchar(&out, '\0');
    }
    std::size_t size = element.size;
    switch (element.letter) {
      case 'x':
        luaL_addchar(&out, '\0');
        break;
      case 'c':
      case 's':
        size = add_string(lua, out, arg++, element);
        break;
      case 'f':
        add_float<float>(lua, out, arg++, format);
        break;
      case 'd':
        add_float<double>(lua, out, arg++, format);
        break;
      default:
        if (size == 0) {
          bad_letter(lua, element.letter);
        }
        add_integer(lua, out, arg++, format, size);
    }
    total += element.padding + size;
  }
  luaL_pushresult(&out);
  return 1;
}

lua_Number read_integer(const char* bytes, const Format& format, const Element& element) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < element.size; ++i) {
    const std::size_t at = format.little ? element.size - 1 - i : i;
    bits = (bits << 8U) | static_cast<unsigned char>(bytes[at]);
  }
  const bool is_signed = element.letter >= 'a';
  if (!is_signed) {
    return static_cast<lua_Number>(bits);
  }
  if (element.size < sizeof bits) {
    const std::uint64_t sign = std::uint64_t{1} << (element.size * 8 - 1);
    bits = (bits ^ sign) - sign;
  }
  return static_cast<lua_Number>(static_cast<std::int64_t>(bits));
}

template <class Float>
lua_Number read_float(const char* bytes, const Format& format) {
  char copy[sizeof(Float)];
  std::memcpy(copy, bytes, sizeof copy);
  if (!format.little) {
    std::reverse(copy, copy + sizeof copy);
  }
  Float number = 0;
  std::memcpy(&number, copy, sizeof number);
  return static_cast<lua_Number>(number);
}

// Pushes a string element of `left` bytes at most. Returns the bytes it took.
std::size_t push_string(lua_State* lua, const char* bytes, std::size_t left, const Element& element,
                        int& pushed) {
  if (element.letter == 's') {
    const void* const end = std::memchr(bytes, '\0', left);
    if (end == nullptr) {
      luaL_error(lua, "unfinished string in data");
    }
    const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - bytes);
    lua_pushlstring(lua, bytes, length);
    return length + 1;
  }
  std::size_t size = element.size;
  if (size == 0) {
    if (pushed == 0 || lua_isnumber(lua, -1) == 0) {
      luaL_error(lua, "format 'c0' needs a previous size");
    }
    size = static_cast<std::size_t>(lua_tonumber(lua, -1));
    lua_pop(lua, 1);
    --pushed;
    luaL_argcheck(lua, size <= left, 2, "data string too short");
  }
  lua_pushlstring(lua, bytes, size);
  return size;
}

// Pushes what stands at `bytes` (x: nothing). Returns the bytes it took.
std::size_t push_element(lua_State* lua, const char* bytes, std::size_t left, const Format& format,
                         const Element& element, int& pushed) {
  std::size_t size = element.size;
  switch (element.letter) {
    case 'x':
      return size;
    case 'c':
    case 's':
      size = push_string(lua, bytes, left, element, pushed);
      break;
    case 'f':
      lua_pushnumber(lua, read_float<float>(bytes, format));
      break;
    case 'd':
      lua_pushnumber(lua, read_float<double>(bytes, format));
      break;
    default:
      if (size == 0) {
        bad_letter(lua, element.letter);
      }
      lua_pushnumber(lua, read_integer(bytes, format, element));
  }
  ++pushed;
  return size;
}

int unpack(lua_State* lua) {
  Format format{luaL_checkstring(lua, 1)};
  Element element{};
  std::size_t length = 0;
  const char* const data = luaL_checklstring(lua, 2, &length);
  const lua_Integer start = luaL_optinteger(lua, 3, 1);
  luaL_argcheck(lua, start > 0, 3, "offset must be 1 or greater");
  auto at = static_cast<std::size_t>(start - 1);
  int pushed = 0;
  lua_settop(lua, 2);
  while (next_element(lua, format, at, element)) {
    at += element.padding;
    luaL_argcheck(lua, element.size <= length && at <= length - element.size, 2,
                  "data string too short");
    luaL_checkstack(lua, 2, "too many results");
    at += push_element(lua, data + at, length - at, format, element, pushed);
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(at) + 1);
  return pushed + 1;
}

int size(lua_State* lua) {
  Format format{luaL_checkstring(lua, 1)};
  Element element{};
  std::size_t total = 0;
  while (next_element(lua, format, total, element)) {
    luaL_argcheck(lua, element.letter != 's', 1, "option 's' has no fixed size");
    luaL_argcheck(lua, element.letter != 'c' || element.size != 0, 1,
                  "option 'c0' has no fixed size");
    total += element.padding + element.size;
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(total));
  return 1;
}

}  // namespace

void register_struct_library(lua_State* lua) {
  const luaL_Reg functions[] = {
      {"pack", pack}, {"unpack", unpack}, {"size", size}, {nullptr, nullptr}};
  luaL_register(lua, "struct", functions);
  lua_pop(lua, 1);
}

}  // namespace belay::sim
