--- A connection to one server. `belay.connect` makes it.
local Latch = require "belay.latch"
local Lock = require "belay.lock"
local Pump = require "belay.pump"
local Semaphore = require "belay.semaphore"
local errors = require "belay.errors"
local native = require "belay.native"
local options = require "belay.options"

local Client = {}
Client.__index = Client

local own = { scheduler = "table", warn = "function", log = "function" }

-- What the library tells, unless the program says: to `log`, to the scheduler's `warn`, or on stderr while a call blocks.
local function defaults(log, scheduler)
  if log or scheduler then
    return { log_events = log and "info" or "warning" }
  end
  return { log_level = not os.getenv "BELAY_LOG" and "warning" or nil }
end

--- What `belay.connect` does.
function Client.new(url, given)
  if type(url) == "table" then
    url, given = nil, url
  end
  given = options.expect(given or options.none, "table", "the options")
  local scheduler = given.scheduler or rawget(_G, "ngx") and require "belay.nginx" or nil
  local library = defaults(given.log, scheduler)
  library.url = url
  for name, value in pairs(given) do
    if own[name] then
      options.expect(value, own[name], "the option '" .. name .. "'")
    else
      library[name] = value
    end
  end
  if scheduler and type(scheduler.connect) ~= "function" then
    options.refuse "the option 'scheduler' must be an adapter, such as require \"belay.luv\""
  end
  local handle, refused = options.client(library)
  if refused then
    return errors.fail(refused)
  end
  local pump = Pump.new(handle, scheduler, given.warn, given.log)
  if given.log then
    pump:start()
  end
  return setmetatable({ pump = pump, client_id = native.belay_client_id(handle) }, Client)
end

function Client:__tostring()
  return "Belay client " .. self.client_id
end

--- The id under which other clients see this one.
function Client:id()
  return self.client_id
end

--- A lock: `client:lock "orders:42"`, `client:lock { "a", "b", lease = 10 }`. Options: `shared` (true: for readers; or names to read-lock
-- beside the others), `identity`, `lease` (fixed, instead of renewing), `max_hold`, `lock_delay`, `confirmed` (true: an acquire ends only
-- when the server has answered that this client has the lock; else what another client's release hands over is held as soon as its
-- message comes, and a stop of this process right then may lose it).
function Client:lock(name, given)
  return Lock.new(self.pump, name, given)
end

--- A semaphore: `client:semaphore("gpu", 8)`, `client:semaphore("gpu", 8, { lease = 10 })`. Options: `limit`, `lease`, `max_hold`,
-- `lock_delay`, `confirmed`. The limit may stand among them, or be left out: then it is as it is set.
function Client:semaphore(name, limit, given)
  return Semaphore.new(self.pump, name, limit, given)
end

--- A countdown latch.
function Client:latch(name)
  return Latch.new(self.pump, name)
end

--- Ask who holds a name and who waits for it. Returns a table: `primitive` ("lock", "semaphore", "latch"; nil: not in use), `members`, the
-- holders first, `server` that has the name, `slot` of the name in its cluster (nil: the server is in none), and `limit`, `available`,
-- `generation`, `count` where they are.
function Client:inspect(name)
  local found = self.pump:call("inspect", options.expect(name, "string", "the name"))
  if found.status then
    return errors.fail(found)
  end
  found.total, found.members = found.total or 0, found.members or {}
  found.server, found.text = found.text, nil
  found.slot = found.slot ~= -1 and (found.slot or 0) or nil
  if found.primitive == "semaphore" then
    found.available = found.available or 0
  elseif found.primitive == "latch" then
    found.count = found.count or 0
  end
  return found
end

--- Take a name from its holder by force; with `fence` only from the holder that has it. Returns those who lost it.
function Client:break_name(name, fence)
  options.expect(name, "string", "the name")
  local event = self.pump:call("break", name, fence and options.expect(fence, "fence", "the fence") or "0")
  return errors.results(event, event.members or {})
end

--- Find names in use that match a glob pattern: at most `limit`, 1000 if you do not say. Returns a list, and how many there are.
function Client:list(pattern, limit)
  options.expect(pattern, "string", "the pattern")
  local event = self.pump:call("list", pattern, options.expect(limit or 1000, "integer", "the limit"))
  local found = {}
  for i, member in ipairs(event.members or {}) do
    found[i] = member.name
  end
  return errors.results(event, found, event.total or 0)
end

--- Write a key of yours, unless a newer fence has written it: `client:fenced_write("order:42", fence, "SET", "paid", "PX", 60000)`. Returns
-- the server's reply as a string; `nil, message, "STALE_FENCE", details` with `details.fence`, the newest.
function Client:fenced_write(key, fence, ...)
  local words = native.belay_words_new()
  for i = 1, select("#", ...) do
    local word = options.expect(select(i, ...), "word", "word " .. i)
    native.belay_words_add(words, type(word) == "number" and ("%.0f"):format(word) or word)
  end
  options.expect(key, "string", "the key")
  local event = self.pump:call("fenced_write_words", key, options.expect(fence, "fence", "the fence"), words)
  return errors.results(event, event.text)
end

--- Ask the server, or each master of a cluster that this client uses, for a sign of life.
function Client:ping()
  return errors.done(self.pump:call "ping")
end

--- What this client has done and has, as a table of numbers by name. Local memory only.
function Client:metrics()
  local event = self.pump:call "metrics"
  local metrics = {}
  for _, member in ipairs(event.members or {}) do
    metrics[member.name] = member.value
  end
  return errors.results(event, metrics)
end

--- Call the callbacks of news and of the log that wait, for `seconds` at most for the first. For programs without a scheduler.
function Client:poll(seconds)
  self.pump:drain(seconds and options.wait_ms(seconds) or 0)
end

--- End all waits with CLOSED. Every hold is LOST at once, and then released. Later calls give CLOSED.
function Client:shutdown()
  return errors.done(self.pump:shutdown())
end

--- Shut the client down, wait until its holds are released, 2 seconds at most, and free it.
function Client:close()
  self.pump:close()
  return true
end

Client.__close = Client.close

return options.class(Client, "a client", { new = true })
