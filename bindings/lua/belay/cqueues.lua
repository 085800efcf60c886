--- For programs that run on cqueues: `belay.connect(url, { scheduler = require "belay.cqueues" })`. Calls in a controller's coroutines let
-- the others run. A hold with callbacks keeps its controller's loop running until the release.
local condition = require "cqueues.condition"
local cqueues = require "cqueues"
local native = require "belay.native"

local adapter = {}

function adapter.yieldable()
  local controller, is_inside = cqueues.running()
  return controller ~= nil and is_inside
end

local Waiter = {}
Waiter.__index = Waiter

function adapter.waiter()
  return setmetatable({ condition = condition.new() }, Waiter)
end

function Waiter:wait()
  self.condition:wait()
end

function Waiter:wake()
  self.condition:signal()
  return true
end

local Connection = {}
Connection.__index = Connection

function adapter.connect(handle, drain)
  local readable = { pollfd = native.belay_client_fd(handle), events = "r" }
  local runners = setmetatable({}, { __mode = "k" }) -- the controllers that take events; a dropped one takes none
  return setmetatable({ readable = readable, drain = drain, idle = condition.new(), is_busy = false, runners = runners }, Connection)
end

-- Runs a coroutine that takes the events, as long as anybody waits for one.
function Connection:busy(waiting, watched)
  self.is_busy = waiting + watched > 0
  if not self.is_busy then
    self.idle:signal()
  elseif cqueues.running() and not self.runners[cqueues.running()] then
    self.runners[cqueues.running()] = true
    cqueues.running():wrap(function()
      while self.is_busy do
        cqueues.poll(self.readable, self.idle)
        if self.is_busy and self.drain() == false then
          break
        end
      end
      self.runners[cqueues.running()] = nil
    end)
  end
end

function Connection:stop(in_lua_close)
  if not in_lua_close then
    self.is_busy = false
    self.idle:signal()
    cqueues.cancel(self.readable.pollfd)
  end
end

return adapter
