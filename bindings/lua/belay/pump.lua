--- Calls the library, and gives its events to those who wait for them.
--
-- One pump per client. A call blocks, unless the client has a scheduler and the call is in one of its coroutines: then the call is
-- submitted under a tag, and the coroutine waits until `drain` takes the event of this tag. Each event has exactly one taker. A granted
-- hold whose coroutine has ended meanwhile is released again.
local errors = require "belay.errors"
local guard = require "belay.guard"
local names = require "belay.names"
local native = require "belay.native"
local options = require "belay.options"

local status = names.status
local BATCH = 64 -- so many events, then the scheduler's others run
local isyieldable = rawget(coroutine, "isyieldable") or function() -- Lua 5.1 does not yield across a function of C, such as pcall
  local level, info = 3, debug.getinfo(3, "S")
  while info and info.what ~= "C" do
    level = level + 1
    info = debug.getinfo(level, "S")
  end
  return not info
end
-- By their clients: `keep_grants` notes each grant in the pump's `holds` and `held` before Lua runs again.
local pumps = setmetatable({}, { __mode = "kv" })
native.keep_grants(pumps)
-- Pumps that somebody waits for: a suspended coroutine alone does not keep its pump from being collected.
local busy = {} -- luacheck: no unused

local Pump = {}
Pump.__index = Pump

local function free(state, in_lua_close)
  local handle, connection = state.handle, state.connection
  state.handle, state.connection = nil, nil
  if connection then
    connection:stop(in_lua_close)
  end
  if handle ~= nil then
    native.belay_client_free(handle)
  end
end

-- The pump is collected; or the state closes: then the weak table still has the pump, and the scheduler may be gone already.
local new_guard = guard(function(state)
  free(state, state.weak.pump ~= nil)
end)

-- Nothing keeps this guard: its finalizer runs with each collection of garbage, and looks which holds were in it. When the state closes,
-- the weak table still has all holds, and the client's end releases them.
local guard_holds
guard_holds = guard(function(watched)
  local pump = watched.weak.pump
  if pump and pump.state.handle then
    pump:abandon_dropped()
    -- Never with a scheduler: a collection may come between a submission and its wait, and would take its event.
    if not pump.scheduler and not pump.is_polled then
      pump:drain(0)
    end
    guard_holds { weak = watched.weak }
  end
end)

--- `handle`: the library's client. `scheduler`: an adapter, or nil: every call blocks. `warn`, `log`: functions for texts.
function Pump.new(handle, scheduler, warn, log)
  local weak = setmetatable({}, { __mode = "v" })
  local state = { handle = handle, weak = weak } -- what the finalizer needs; later also the scheduler's connection
  local self = setmetatable({
    state = state,
    guard = new_guard(state),
    holds = setmetatable({}, { __mode = "v" }), -- number of a hold -> Hold, for news; a dropped one is in it no more
    held = {}, -- number of a hold -> its lock, until it ends
    watching = {}, -- numbers of holds with a callback
    watched = 0,
    is_polled = not scheduler and log ~= nil, -- whether each call tells news
    waits = {}, -- tag -> who waits for its event
    waiting = 0,
    tag = 0,
    scheduler = scheduler,
    warn = warn or scheduler and scheduler.warn or function(text)
      io.stderr:write("belay: ", text, "\n")
    end,
    log = log,
  }, Pump)
  weak.pump = self
  pumps[handle] = self
  guard_holds { weak = weak }
  return self
end

--- Tells the scheduler for how many events and news somebody waits.
function Pump:count(waiting, watched)
  self.waiting = self.waiting + waiting
  self.watched = self.watched + watched
  busy[self] = self.waiting > 0 or nil
  self.is_polled = not self.scheduler and (self.log ~= nil or self.watched > 0)
  if self.state.connection then
    self.state.connection:busy(self.waiting, self.watched)
  end
end

--- Says whether somebody waits for news of a hold: true or nil.
function Pump:watch(id, watched)
  if self.watching[id] ~= watched then
    self:start()
    self.watching[id] = watched
    self:count(0, watched and 1 or -1)
  end
end

--- A hold has ended.
function Pump:forget(id)
  self.holds[id], self.held[id] = nil, nil
  self:watch(id, nil)
end

--- Abandons the holds that were dropped without a release.
function Pump:abandon_dropped()
  local dropped = {}
  for id, lock in pairs(self.held) do
    dropped[id] = not self.holds[id] and lock or nil
  end
  for id, lock in pairs(dropped) do
    self:forget(id)
    if native.belay_hold_abandon(self.state.handle, id) == status.OK then
      self.warn(("the hold of %s was dropped without a release: others wait until its lease ends"):format(tostring(lock)))
    end
  end
end

--- Connects the scheduler, if there is one, to this client's events.
function Pump:start()
  if not self.scheduler or self.state.connection or not self.state.handle then
    return
  end
  local weak = self.state.weak
  self.state.connection = self.scheduler.connect(self.state.handle, function()
    return weak.pump ~= nil and weak.pump:drain(0, BATCH)
  end)
end

-- Kept by a coroutine alone while it waits: when that ends early, or is collected with its scheduler, nobody takes what was asked for.
local new_ticket = guard(function(asked)
  local wait, handle = asked.wait, asked.state.handle
  if not wait or not handle then
    return
  end
  wait.is_dropped = true
  if not wait.event then
    native.belay_cancel(handle, wait.tag)
  elseif wait.event.id then
    native.belay_release_nowait(handle, wait.event.id)
  end
end)

local function hand_over(self, tag, event)
  local wait = self.waits[tag]
  if event.id then -- whoever waits has a ticket for it
    self:forget(event.id)
  end
  if wait then
    self.waits[tag] = nil
    wait.event = event
    self:count(-1, 0)
    if not wait.is_dropped and wait.waiter:wake() then
      return
    end
  end
  if event.id then
    native.belay_release_nowait(self.state.handle, event.id)
  end
end

local function guarded(self, what, callback, ...)
  local before = self.telling
  self.telling = coroutine.running() or self -- main, in Lua 5.1
  local ok, problem = pcall(callback, ...)
  self.telling = before
  if not ok then
    self.warn(what .. " failed: " .. tostring(problem))
  end
end

local function tell(self, event, kind, id)
  local hold = self.holds[id]
  if hold then
    guarded(self, "on_" .. kind, hold.tell, hold, kind, event.reason, event.message)
  elseif kind == "log" and not self.log then
    self.warn(event.message)
  elseif kind == "log" then
    guarded(self, "the log function", self.log, event.level, event.message, event.time, event.dropped or 0)
  end
end

--- Takes the events that wait, `limit` at most; waits `timeout` milliseconds at most for the first. Returns false after the last one, and
-- true if none is left.
function Pump:drain(timeout, limit)
  for taken = 0, limit or math.huge do
    if not self.state.handle then
      return false
    end
    local event, kind, tag, id = native.belay_next(self.state.handle, taken == 0 and timeout or 0)
    if event == nil then
      return true
    elseif kind == "end" then
      self.ended = true
      self:abort(event)
      return false
    elseif tag ~= 0 then
      hand_over(self, tag, event)
    else
      tell(self, event, kind, id)
    end
  end
end

--- Ends all waits: no event follows, as the client has been closed or belongs to the parent process.
function Pump:abort(event)
  local waits = self.waits
  self.waits = {}
  for _, wait in pairs(waits) do
    wait.event = { status = event.status, class = event.class }
    self:count(-1, 0)
    wait.waiter:wake()
  end
end

-- Whether this coroutine runs a callback. If a hook raises an error at an unlucky moment, `telling` is left over.
local function is_in_callback()
  local level, info = 3, debug.getinfo(3, "f")
  while info and info.func ~= guarded do
    level = level + 1
    info = debug.getinfo(level, "f")
  end
  return info ~= nil
end

--- Raises an error in a callback: what it waits for would come after it.
function Pump:refuse_in_callback()
  if self.telling == (coroutine.running() or self) and is_in_callback() then
    options.refuse "a callback must not wait: release with { wait = false }, or wait in another coroutine"
  end
end

-- Whether a call waits in a coroutine of the scheduler.
local function is_yieldable(self)
  if self.telling then
    self:refuse_in_callback()
  end
  return self.scheduler and isyieldable() and self.scheduler.yieldable()
end

-- Waits in a coroutine for the event of a submission, unless it was refused.
local function wait_for(self, tag, refused, cancel)
  if refused ~= status.OK then
    return errors.event(refused)
  end
  self:start()
  local wait = { tag = tag, waiter = self.scheduler.waiter() }
  local asked = { wait = wait, state = self.state }
  local ticket = new_ticket(asked) -- luacheck: no unused
  self.waits[tag] = wait
  self:count(1, 0)
  if cancel then
    cancel.waits[wait] = self
  end
  while not wait.event do
    wait.waiter:wait()
  end
  asked.wait = nil
  if cancel then
    cancel.waits[wait] = nil
  end
  return wait.event
end

function Pump:next_tag()
  self.tag = self.tag + 1
  return self.tag
end

-- A call's two forms in the library, by its name there.
local forms = setmetatable({}, { __index = function(self, name)
  self[name] = { submit = native["belay_submit_" .. name], block = native["belay_" .. name] }
  return self[name]
end })

-- Performs a call of the library, and returns its event. `cancel`: a canceller, or nil.
local function perform(self, cancel, name, ...)
  local handle, form = self.state.handle, forms[name]
  if not handle then
    return errors.event(status.CLOSED)
  elseif cancel and cancel.cancelled then
    return errors.event(status.CANCELLED)
  elseif form.submit and is_yieldable(self) and not self.has_shut_down then
    local tag = self:next_tag()
    return wait_for(self, tag, form.submit(handle, tag, ...), cancel)
  end
  local _, event = form.block(handle, ...)
  if self.is_polled then
    self:drain(0)
  end
  return event
end

--- The same.
function Pump:call(name, ...)
  return perform(self, nil, name, ...)
end

--- Acquires what `request` says, with the options `given`. `wait`: in milliseconds, if not the option's. Returns the event; of a grant,
-- what becomes a Hold.
function Pump:acquire(request, given, wait)
  return perform(self, given.cancel, "acquire", request, given.owner or 0, wait or options.wait_ms(given.wait))
end

--- Shuts the client down: nothing waits any more, and all its holds are lost and released.
function Pump:shutdown()
  local handle = self.state.handle
  self.has_shut_down = true -- a release does not wait any more, and only the blocking one tells of a lost hold
  return errors.event(handle and native.belay_client_shutdown(handle) or status.CLOSED)
end

--- Shuts the client down and frees it. Takes 2 seconds at most.
function Pump:close()
  self:refuse_in_callback()
  self.has_shut_down = true
  if self.state.handle and native.belay_client_shutdown(self.state.handle) ~= status.FORKED then
    while not self.ended do
      if is_yieldable(self) then
        wait_for(self, self:next_tag(), status.OK) -- no event has this tag: `abort` ends the wait
      else
        self:drain(-1)
      end
    end
  end
  free(self.state)
end

return Pump
