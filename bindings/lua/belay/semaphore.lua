--- A semaphore: a number of permits, of which each hold takes some. `client:semaphore` makes it.
local Hold = require "belay.hold"
local errors = require "belay.errors"
local native = require "belay.native"
local options = require "belay.options"
local request = require "belay.request"

local Semaphore = {}
Semaphore.__index = Semaphore

local known = setmetatable({ limit = "integer" }, { __index = request.options })

local with_permits = request.with("permits", "integer")

function Semaphore.new(pump, name, limit, given)
  options.expect(name, "string", "the name")
  if type(limit) == "table" and given == nil then
    limit, given = nil, limit
  end
  given = options.check(given, known)
  if limit and given.limit then
    options.refuse "the limit stands twice: after the name and among the options"
  end
  return setmetatable({ pump = pump, name = name, given = given, limit = limit and options.expect(limit, "integer", "the limit")
    or given.limit or 0, requests = {} }, Semaphore)
end

function Semaphore:__tostring()
  return options.shown(self.name)
end

local function request_of(self, permits)
  local made = self.requests[permits]
  if not made then
    made = request.new("SEMAPHORE", self.given, self.name)
    native.belay_request_set_permits(made, permits, self.limit)
    self.requests[permits] = made
  end
  return made
end

local function permits_in(given)
  if given.permits == 0 then
    options.refuse "0 permits are none: `try_all` takes all that are free"
  end
  return given.permits or 1
end

--- Acquire permits. As `acquire` of a lock, with the option `permits`: how many, 1 if you do not say.
function Semaphore:acquire(given)
  given = request.check(given, with_permits)
  return Hold.acquire(self, request_of(self, permits_in(given)), given)
end

--- Try once to acquire permits. Takes the options of `acquire`.
function Semaphore:try(given)
  given = request.check(given, with_permits, true)
  return Hold.acquire(self, request_of(self, permits_in(given)), given, 0)
end

--- Take all permits that are free: `hold:permits()` says how many.
function Semaphore:try_all(given)
  return Hold.acquire(self, request_of(self, 0), request.check(given, nil, true), 0)
end

--- How many permits are free, and the limit. Others may take them before you do.
function Semaphore:available()
  return errors.numbers(self.pump:call("semaphore_available", self.name), "available", "limit")
end

--- Set how many permits there are. Returns how many are free, and the limit.
function Semaphore:set_limit(limit)
  options.expect(limit, "integer", "the limit")
  return errors.numbers(self.pump:call("semaphore_set_limit", self.name, limit), "available", "limit")
end

return options.class(Semaphore, "a semaphore", { new = true })
