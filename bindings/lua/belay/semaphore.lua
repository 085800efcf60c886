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

function Semaphore.new(pump, name, given)
  options.expect(name, "string", "the name")
  given = options.check(type(given) == "number" and { limit = given } or given, known)
  return setmetatable({ pump = pump, name = name, given = given, requests = {} }, Semaphore)
end

function Semaphore:__tostring()
  return options.shown(self.name)
end

local function request_of(self, permits)
  local made = self.requests[permits]
  if not made then
    made = request.new("SEMAPHORE", self.given, self.name)
    native.belay_request_set_permits(made, permits, self.given.limit or 0)
    self.requests[permits] = made
  end
  return made
end

--- Acquire permits. As `acquire` of a lock, with the option `permits`: how many, 1 if you do not say.
function Semaphore:acquire(given)
  given = request.check(given, with_permits)
  return Hold.acquire(self, request_of(self, given.permits or 1), given)
end

--- Try once to acquire permits. Takes the options of `acquire`.
function Semaphore:try(given)
  given = request.check(given, with_permits, true)
  return Hold.acquire(self, request_of(self, given.permits or 1), given, 0)
end

--- Take all permits that are free: `hold:permits()` says how many.
function Semaphore:try_all(given)
  return Hold.acquire(self, request_of(self, 0), request.check(given, with_permits, true), 0)
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

return Semaphore
