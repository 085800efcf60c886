--- What a lock, a semaphore or a latch asks for, and the options of asking. The library reads a request at each acquire.
local names = require "belay.names"
local native = require "belay.native"
local options = require "belay.options"

local request = {}

--- The options of a request, with their types.
request.options = { lease = "number", max_hold = "number", lock_delay = "number", identity = "string",
  confirmed = "boolean" }

-- The options of each acquire; a try has no `wait`.
local waiting = { wait = "number", owner = "integer", cancel = "canceller", on_lost = "function", on_at_risk = "function",
  on_recovered = "function" }

-- How the library has those that are times.
local times = { lease = native.belay_request_set_lease_ms, max_hold = native.belay_request_set_max_hold_ms,
  lock_delay = native.belay_request_set_lock_delay_ms }

--- A request for names of a primitive, "LOCK", "SEMAPHORE" or "LATCH". `given`: its options, checked.
function request.new(primitive, given, ...)
  if given.lease == 0 then
    options.refuse "a lease of 0 seconds is none: leave it out to have Belay renew the hold"
  end
  local new = native.request(names.primitive[primitive], ...)
  if given.identity then
    native.belay_request_set_identity(new, given.identity)
  end
  if given.confirmed then
    native.belay_request_set_confirmed(new, 1)
  end
  for name, set in pairs(times) do
    if given[name] then
      set(new, options.ms(given[name], "the option '" .. name .. "'"))
    end
  end
  return new
end

--- The options of an acquire, with one more.
function request.with(name, kind)
  return setmetatable({ [name] = kind }, { __index = waiting })
end

--- Checks the options of an acquire or of a try; `known`: the result of request.with.
function request.check(given, known, is_try)
  given = options.check(given or nil, known or waiting)
  if is_try and given.wait then
    options.refuse "a try does not wait: there is no option 'wait'"
  end
  return given
end

return request
