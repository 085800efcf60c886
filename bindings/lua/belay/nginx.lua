--- For nginx with lua-nginx-module, and for OpenResty. Used without an option. One pump per worker and client takes the events: a timer
-- whose cosocket reads a byte when an event waits, so nothing polls. Requests wait on semaphores, and the worker serves others meanwhile.
--
-- Make the client in a worker (`init_worker_by_lua`, or at the first request): one of `init_by_lua` belongs to the master process.
local native = require "belay.native"
local semaphore = require "ngx.semaphore"

local nginx = {}

-- Where lua-nginx-module lets the caller wait. Elsewhere a call blocks the worker: log phases release with { wait = false }.
local waits_in = { rewrite = true, access = true, content = true, timer = true, ssl_cert = true, ssl_session_fetch = true,
  ssl_client_hello = true, server_rewrite = true, preread = true }

function nginx.yieldable()
  return waits_in[ngx.get_phase()] == true
end

function nginx.warn(text)
  ngx.log(ngx.WARN, "belay: ", text)
end

local Waiter = {}
Waiter.__index = Waiter

function nginx.waiter()
  return setmetatable({ semaphore = semaphore.new() }, Waiter)
end

function Waiter:wait()
  self.semaphore:wait(3600) -- the library ends the wait; the pump asks whether it has
end

-- Returns false if the request has ended meanwhile.
function Waiter:wake()
  local waiters = -self.semaphore:count()
  self.semaphore:post()
  return waiters > 0
end

local Connection = {}
Connection.__index = Connection

-- Takes the events whenever a byte comes, until `stop` closes the other end.
local function pump(self, socket)
  native.belay_client_set_wakeup(self.handle, self.fd)
  socket:settimeouts(1000, 1000, 2 ^ 31 - 1)
  local none_left
  repeat
    local is_open = true
    none_left = self.drain()
    if none_left then -- a byte comes only when an event enters the empty queue
      local bytes, problem = socket:receiveany(1024)
      is_open = bytes or problem == "timeout"
    end
  until none_left == false or not is_open
end

-- `turn` stands for this pump, as another may have started since it was stopped: `self.running` has the one that is wanted.
local function run(self, turn)
  local listener, path = native.wakeup_listen()
  if not listener then
    return nginx.warn(path)
  end
  local socket = ngx.socket.tcp()
  local connected, problem = socket:connect("unix:" .. path)
  local fd = native.wakeup_accept(listener, path)
  if connected and fd and self.running == turn then
    self.fd = fd
    pump(self, socket)
  elseif fd then
    native.wakeup_close(fd)
  end
  if not connected or not fd then
    nginx.warn("no connection for the wake-ups: " .. tostring(problem))
  end
  socket:close()
  if self.running == turn then
    self:stop()
  end
end

-- A worker that stops waits for its timers, and so for the pump. But it ends timers early that are not due: this one then ends the pump,
-- when no request waits any more.
local function exit_with_worker(self)
  ngx.timer.at(365 * 86400, function(premature)
    self.exiting = premature
    self:busy(self.waiting)
  end)
end

function nginx.connect(handle, drain)
  local self = setmetatable({ handle = handle, drain = drain, waiting = 0 }, Connection)
  exit_with_worker(self)
  self:start()
  return self
end

function Connection:start()
  local turn = {}
  self.running = turn
  local ok, problem = ngx.timer.at(0, function()
    run(self, turn)
  end)
  if not ok then
    nginx.warn("no timer for the events: " .. problem)
  end
end

function Connection:busy(waiting)
  self.waiting = waiting
  if self.exiting and waiting == 0 then
    self:stop()
  elseif waiting > 0 and not self.running then
    self:start()
  end
end

--- Ends the pump. The client is still there.
function Connection:stop()
  self.running = nil
  if self.fd then
    native.belay_client_set_wakeup(self.handle, -1)
    native.wakeup_close(self.fd)
    self.fd = nil
  end
end

return nginx
