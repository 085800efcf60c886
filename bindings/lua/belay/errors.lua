--- How calls fail: `nil, message, status, details`.
--
-- `status` is the name of a status, such as "TIMEOUT": `belay.status` has all, and `belay.about` says what each means. `details` is a
-- table: `class` ("RETRY", "REFUSED", "MISUSE", "GONE"), and where there is one, `in_doubt`: for so many seconds the outcome may still
-- take effect; `remaining`: of "BUSY" and "TIMEOUT", the seconds left of the other holder's lease and lock-delay (whoever renews the
-- lease has the name for longer); `reason`: why a hold was lost; `fence`, `count`: what the server has instead.
--
-- A wrong type and an unknown option are mistakes of the program: these raise an error.
local names = require "belay.names"
local native = require "belay.native"

local errors = {}

--- The names of the statuses: `belay.status.TIMEOUT` is "TIMEOUT". A name that there is not raises an error.
errors.status = setmetatable({}, {
  __index = function(_, name)
    error("Belay has no status '" .. tostring(name) .. "'", 2)
  end,
})
for name in pairs(names.status) do
  errors.status[name] = name
end

--- The event of a call that ended with the number of a status, when the library gave none.
errors.event = native.failure

-- Says in seconds, under the name that it has here, what the library found out of range.
local function reworded(message)
  local name, value, allowed = message:match "^(%l[%l_]*)_ms was (%S+): (.+) is allowed$"
  if not name then
    return message
  end
  local function seconds(ms)
    return ("%.14g"):format(ms / 1000)
  end
  value = tonumber(value) and seconds(value) .. " s" or value
  allowed = allowed:gsub("a duration, or %-1 for no limit,", "0 or more"):gsub("%d+", seconds)
  return ("%s was %s: %s s is allowed"):format(name, value, allowed)
end

--- What a failed call returns; `event.status` says that it has failed.
function errors.fail(event)
  event.message = reworded(event.message or names.about[event.status] or "no reason was given")
  return nil, event.message, event.status, event
end

--- What a call without a result returns.
function errors.done(event)
  if event and event.status then
    return errors.fail(event)
  end
  return true
end

--- What a call with these results returns.
function errors.results(event, ...)
  if event.status then
    return errors.fail(event)
  end
  return ...
end

--- What a call with one or two numbers returns: those of its event under these names.
function errors.numbers(event, first, second)
  if second then
    return errors.results(event, event[first] or 0, event[second] or 0)
  end
  return errors.results(event, event[first] or 0)
end

return errors
