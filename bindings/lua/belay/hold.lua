--- A granted lock, or granted permits of a semaphore.
--
-- Release it, or let `local hold <close>` do so. Belay renews it until then. A hold that is dropped without a release is abandoned: its
-- work may still go on, so others get the name only when the lease ends.
local errors = require "belay.errors"
local names = require "belay.names"
local native = require "belay.native"
local options = require "belay.options"

local status = names.status
local unpack = rawget(table, "unpack") or rawget(_G, "unpack") -- the latter in Lua 5.1

-- Its fences are its list.
local Hold = {}
Hold.__index = Hold

local news = { "on_lost", "on_at_risk", "on_recovered" }

--- Acquires what `request` says, with the options `given`, checked. `lock` is what is acquired, for messages. `wait`: as Pump:acquire has
-- it. Returns as Lock:acquire.
function Hold.acquire(lock, request, given, wait)
  local pump = lock.pump
  local grant = pump:acquire(request, given, wait)
  if grant.status then
    return errors.fail(grant)
  end
  local self = setmetatable(grant, Hold)
  self.pump, self.lock = pump, lock
  pump.holds[self.id], pump.held[self.id] = self, lock
  for _, what in ipairs(news) do
    if given[what] then
      self[what](self, given[what])
    end
  end
  return self
end

function Hold:__tostring()
  return ("hold of %s, fence %s"):format(tostring(self.lock), self[1] or "none")
end

--- The fence of name number `index`, 1 for the first, as a string of digits: Lua 5.1 and LuaJIT would print a number as 1.79e+15.
function Hold:fence(index)
  if index ~= nil and not self[options.expect(index, "integer", "the number of a name")] then
    options.refuse(("%s has no name number %d"):format(tostring(self), index))
  end
  return self[index or 1]
end

--- The fences of all names, in the order of the lock's names.
function Hold:fences()
  return { unpack(self) }
end

--- How many permits of a semaphore this is.
function Hold:permits()
  return self.units or 1
end

-- A number that the library has in memory, as `shown` makes it; `released` or `lost` where it has none. After `client:close()` every hold
-- is lost.
local function read(self, call, shown, released, lost)
  local handle = self.pump.state.handle
  if self.ended or not handle then
    return self.ended and released or lost
  end
  local number = call(handle, self.id)
  if number < 0 then
    return errors.fail(errors.event(-number))
  end
  return shown(number)
end

local function state(number)
  return names.states[number]
end

--- "HELD", "AT_RISK", "LOST" or "RELEASED", without the network.
function Hold:state()
  return read(self, native.belay_hold_state, state, "RELEASED", "LOST")
end

local function in_seconds(ms)
  return ms / 1000
end

--- For how many seconds the hold is certainly ours, even if the client hears nothing more.
function Hold:remaining()
  return read(self, native.belay_hold_remaining_ms, in_seconds, 0, 0)
end

-- News of this hold, by the pump.
function Hold:tell(what, reason, message)
  if what == "lost" then
    self.lost = { reason, message }
    self.pump:watch(self.id, nil)
  end
  if self[what .. "_callback"] and not self.ended then
    self[what .. "_callback"](self, reason, message)
  end
end

local function on(what)
  return function(self, callback)
    self[what .. "_callback"] = options.expect(callback, "function", "the callback")
    if not self.pump.scheduler then -- else the connection brings the news
      self.pump:drain(0)
    end
    if not self.lost then
      self.pump:watch(self.id, not self.ended or nil)
    elseif what == "lost" then
      callback(self, self.lost[1], self.lost[2])
    end
    return self
  end
end

--- Have `callback(hold, reason, message)` called when the hold is lost; at once if it is lost already. Without a scheduler callbacks run
-- within later calls on the client. A callback must not wait.
Hold.on_lost = on "lost"
--- The same when a third of the lease is left: the renewal fails, or has stopped.
Hold.on_at_risk = on "at_risk"
--- The same when a hold at risk is safe again.
Hold.on_recovered = on "recovered"

--- Let a hold with a fixed lease last `seconds` from now. Never shortens it.
function Hold:extend(seconds)
  return errors.done(self.pump:call("extend", self.id, options.ms(seconds, "the lease")))
end

--- Ask the server whether the hold is still ours.
function Hold:verify()
  return errors.done(self.pump:call("verify", self.id))
end

--- Turn an exclusive hold of one lock into a reader's.
function Hold:downgrade()
  return errors.done(self.pump:call("downgrade", self.id))
end

-- Ends the hold by `finish`, a call of the library that is told its number. Returns its event. If an error comes between, by a hook, the
-- pump knows the hold still: it can be released again, and is abandoned when it is dropped.
local function ended_by(self, finish)
  local pump, had_ended = self.pump, self.ended
  self.ended = true
  if pump.state.handle then
    local event = finish(pump, self.id)
    pump:forget(self.id)
    return event
  elseif had_ended then
    return errors.event(status.UNKNOWN_HOLD)
  end
  local lost = errors.event(status.LOST)
  lost.reason = "CLOSED"
  return lost
end

local RELEASE = { wait = "boolean" }

local function release(pump, id)
  return pump:call("release", id)
end

local function release_nowait(pump, id)
  return errors.event(native.belay_release_nowait(pump.state.handle, id))
end

local function abandon(pump, id)
  return errors.event(native.belay_hold_abandon(pump.state.handle, id))
end

--- Release the hold. It ends, whatever this returns: true, or `nil, message, "LOST"` if it had been lost. `{ wait = false }` does not
-- wait for the server.
function Hold:release(given)
  local pump, nowait = self.pump, given and options.check(given, RELEASE).wait == false
  if pump.telling and not nowait then
    pump:refuse_in_callback()
  end
  return errors.done(ended_by(self, nowait and release_nowait or release))
end

--- Forget the hold without telling the server: others get the name when the lease ends.
function Hold:abandon()
  return errors.done(ended_by(self, abandon))
end

--- `local hold <close>` releases it. If it had been lost, and nothing else has failed, this raises an error: the work that you believed
-- to be protected may have met another's.
function Hold:__close(problem)
  if self.ended then
    return
  end
  local ok, message, name = self:release()
  if not ok and name == "LOST" and problem == nil then
    error(("the hold of %s was lost: %s"):format(tostring(self.lock), message), 0)
  end
end

--- What `lock:with` returns after `work` has returned or failed.
function Hold:after(ok, ...)
  self:__close(not ok and (...) or nil)
  if not ok then
    error((...), 0)
  end
  return ...
end

return options.class(Hold, "a hold", { acquire = true })
