--- A lock: of one name or several, exclusive, or shared by readers or by an identity. `client:lock` makes it.
local Hold = require "belay.hold"
local names = require "belay.names"
local native = require "belay.native"
local options = require "belay.options"
local request = require "belay.request"

-- Its names are its list, the shared ones last.
local Lock = {}
Lock.__index = Lock

local known = setmetatable({ shared = "any" }, { __index = request.options })

-- What stands in `spec` beside a list of names. A name that is missing is a mistake: a lock of the others would not protect it.
local function options_in(spec)
  local given, count = {}, 0
  for key, value in pairs(spec) do
    if type(key) == "number" then
      count = count + 1
    else
      given[key] = value
    end
  end
  for i = 1, count do
    options.expect(spec[i], "string", "name number " .. i)
  end
  return given
end

local function add(self, spec, add_name)
  for _, name in ipairs(type(spec) == "table" and spec or { options.expect(spec, "string", "the name") }) do
    self[#self + 1] = name
    add_name(self.request, name)
  end
end

function Lock.new(pump, spec, given)
  if not given and type(spec) == "string" then -- nearly always
    return setmetatable({ spec, pump = pump, request = native.request(names.primitive.LOCK, spec) }, Lock)
  end
  local within = type(spec) == "table" and options_in(spec) or nil
  if given and within and next(within) ~= nil then
    options.refuse("the options stand twice: beside the names, '" .. tostring(next(within)) .. "', and after them")
  end
  given = options.check(given or within, known)
  local shared = given.shared
  if type(shared) == "table" and next(options_in(shared)) ~= nil then
    options.refuse("the option 'shared' must be true or a list of names: it has '" .. tostring(next(options_in(shared))) .. "'")
  end
  local self = setmetatable({ pump = pump, request = request.new("LOCK", given) }, Lock)
  add(self, spec, shared == true and native.belay_request_add_shared_name or native.belay_request_add_name)
  add(self, shared ~= true and shared or {}, native.belay_request_add_shared_name)
  return self
end

function Lock:__tostring()
  local shown = {}
  for i, name in ipairs(self) do
    shown[i] = options.shown(name)
  end
  return table.concat(shown, ", ")
end

--- Acquire the lock. Returns a hold; or `nil, message, status, details`: then you do not have it. Options: `wait` in seconds (none: without
-- limit; 0: one try), `owner` (a number that stands for a task of yours: it may acquire the lock again), `cancel` (a canceller),
-- `on_lost`, `on_at_risk`, `on_recovered`.
function Lock:acquire(given)
  return Hold.acquire(self, self.request, request.check(given))
end

--- Try once: `nil, message, "BUSY"` if somebody else has it. Takes the options of `acquire`.
function Lock:try(given)
  return Hold.acquire(self, self.request, request.check(given, nil, true), 0)
end

--- How many holds of this lock's name number `index` an owner has in this client.
function Lock:holds(owner, index)
  local handle, name = self.pump.state.handle, self[options.expect(index or 1, "integer", "the number of a name")]
  options.expect(owner, "integer", "the owner")
  if not name then
    options.refuse(("the lock of %s has no name number %d"):format(tostring(self), index or 1))
  end
  return handle and native.belay_owner_holds(handle, owner, name) or 0
end

--- Acquire the lock, call `work(hold)`, and release the lock, also after an error. `given` may be left out. Returns what `work` returns; or
-- `nil, message, status, details` if the lock was not to be had. Raises an error if it was lost meanwhile. For versions without
-- `local hold <close>`.
function Lock:with(given, work)
  if type(given) == "function" then
    given, work = nil, given
  end
  options.expect(work, "function", "the work")
  local hold, message, status, details = self:acquire(given)
  if not hold then
    return nil, message, status, details
  end
  return Hold.after(hold, pcall(work, hold))
end

return options.class(Lock, "a lock", { new = true })
