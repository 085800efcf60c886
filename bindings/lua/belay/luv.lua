--- For programs that run on luv, libuv's loop: `belay.connect(url, { scheduler = require "belay.luv" })`. Calls in coroutines let the loop
-- run. Calls outside coroutines, as in luv's callbacks, block.
local native = require "belay.native"
local uv = require "luv"

local luv = {}

function luv.yieldable()
  local coroutine_, is_main = coroutine.running()
  return coroutine_ ~= nil and not is_main
end

local Waiter = {}
Waiter.__index = Waiter

function luv.waiter()
  return setmetatable({ coroutine = coroutine.running() }, Waiter)
end

function Waiter:wait() -- luacheck: no self
  coroutine.yield()
end

-- Returns false if the coroutine has ended meanwhile.
function Waiter:wake()
  if coroutine.status(self.coroutine) ~= "suspended" then
    return false
  end
  local ok, problem = coroutine.resume(self.coroutine)
  if not ok then -- as in any callback of luv, but not within the loop over the events
    local trace = debug.traceback(self.coroutine, tostring(problem))
    local idle = uv.new_timer()
    idle:start(0, 0, function()
      idle:close()
      error(trace, 0)
    end)
  end
  return true
end

local Connection = {}
Connection.__index = Connection

-- luv 1.44 crashes in lua_close if the loop has not run after a close. So what stops outside the loop is closed within it, when it runs
-- again. Until then the poll needs its descriptor: a duplicate, which is not closed with the client.
local stopped = {}

local function close_stopped()
  for i, connection in pairs(stopped) do
    connection.poll:close()
    native.wakeup_close(connection.fd)
    stopped[i] = nil
  end
end

function luv.connect(handle, drain)
  local fd = assert(native.wakeup_dup(native.belay_client_fd(handle)))
  local self = setmetatable({ fd = fd, poll = uv.new_poll(fd) }, Connection)
  self.poll:start("r", function()
    close_stopped()
    if drain() == false and not self.has_stopped then
      self.poll:stop()
    end
  end)
  self.poll:unref()
  return self
end

-- Keeps the loop running only while a coroutine waits.
function Connection:busy(waiting)
  self.poll[waiting > 0 and "ref" or "unref"](self.poll)
end

function Connection:stop(in_lua_close)
  if in_lua_close then -- luv has closed the poll already
    return native.wakeup_close(self.fd)
  end
  self.poll:stop()
  self.has_stopped = true
  stopped[#stopped + 1] = self
  if uv.loop_mode() then
    close_stopped()
  end
end

return luv
