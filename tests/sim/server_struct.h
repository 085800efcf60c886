// The `struct` library of a server's Lua: pack, unpack and size. Stateless; registers itself in a
// Lua state. Formats: < > (byte order) ! (alignment) B b H h I[n] i[n] L l T f d x c[n] s, as
// servers have them.
#pragma once

struct lua_State;

namespace belay::sim {

// Leaves nothing on the stack; the library is the global `struct`.
void register_struct_library(lua_State* lua);

}  // namespace belay::sim
