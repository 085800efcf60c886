--- Finalizers for all versions of Lua. Lua 5.1 and LuaJIT call __gc of userdata only: `newproxy` makes one.
local newproxy = rawget(_G, "newproxy")

--- `guard(finalize)` returns a function that makes guards: when the guard of `state` is collected, or the state of Lua closes,
-- `finalize(state)` is called. Keep the guard in the object that it guards. `state` must not lead to that object.
if newproxy then
  return function(finalize)
    local states = setmetatable({}, { __mode = "k" })
    local first = newproxy(true)
    getmetatable(first).__gc = function(proxy)
      local state = states[proxy]
      states[proxy] = nil
      if state then -- else it is `first`
        finalize(state)
      end
    end
    return function(state)
      local proxy = newproxy(first)
      states[proxy] = state
      return proxy
    end
  end
end

return function(finalize)
  local metatable = { __gc = finalize }
  return function(state)
    return setmetatable(state, metatable)
  end
end
