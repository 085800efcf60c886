--- What the specs share: a server of their own, and waiting without sleeping for a fixed time.
local support = {}

local function run(command)
  local pipe = assert(io.popen("(" .. command .. ") 2>&1"))
  local text = pipe:read "*a"
  pipe:close()
  return text
end
support.run = run

--- Waits until `predicate` holds, and returns what it returned; fails after `limit` seconds.
function support.eventually(predicate, limit)
  local ends = os.time() + (limit or 20)
  repeat
    local result = predicate()
    if result then
      return result
    end
    os.execute "sleep 0.01"
  until os.time() > ends
  error("it did not come about within " .. (limit or 20) .. " seconds", 2)
end

--- The error that a function raises, with its line.
function support.problem(call)
  local ok, problem = pcall(call)
  assert(not ok, "it raised no error")
  return problem
end

local Server = {}
Server.__index = Server

--- Starts a server, which ends with this process. io.popen gives no second pipe, so the launcher's answer goes through a file.
function support.server()
  local path = os.tmpname()
  local launcher = assert(io.popen("exec ../../tests/support/launch_server.py >" .. path, "w"))
  local pid, socket
  support.eventually(function()
    local file = assert(io.open(path))
    pid, socket = file:read "*a":match "^(%d+) %d+ (%S+)\n"
    file:close()
    return socket
  end)
  os.remove(path)
  local self = { launcher = launcher, pid = pid, socket = socket, directory = socket:match "(.*)/", url = "unix://" .. socket }
  return setmetatable(self, Server)
end

function Server:cli(command)
  return run(("redis-cli -s %s %s"):format(self.socket, command))
end

function Server:pause()
  run("kill -STOP " .. self.pid)
end

function Server:go_on()
  run("kill -CONT " .. self.pid)
end

function Server:stop()
  self.launcher:close()
end

--- Runs a Lua program in a process of its own, with this version of Lua. Returns what it printed, then "exit=N".
function support.program(text, environment)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local output = run(("%s timeout 60 %s %s; echo exit=$?"):format(environment or "", os.getenv "BELAY_LUA" or "lua", path))
  os.remove(path)
  return output
end

local names = 0

--- A name that no other test uses.
function support.name()
  names = names + 1
  return "spec:" .. names
end

return support
