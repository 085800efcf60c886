--- Ends waits early. Pass one as the option `cancel` to any number of acquires in coroutines. `cancel()` ends those that wait, and those
-- that begin later, with CANCELLED. One that is granted first is granted.
local native = require "belay.native"

local Canceller = {}
Canceller.__index = Canceller

function Canceller.new()
  return setmetatable({ cancelled = false, waits = {} }, Canceller)
end

function Canceller:cancel()
  self.cancelled = true
  for wait, pump in pairs(self.waits) do
    if pump.state.handle then
      native.belay_cancel(pump.state.handle, wait.tag)
    end
  end
end

return Canceller
