--- A countdown latch: it opens when it has been counted down to 0. `client:latch` makes it.
local errors = require "belay.errors"
local native = require "belay.native"
local options = require "belay.options"
local request = require "belay.request"

local Latch = {}
Latch.__index = Latch

local with_generation = request.with("generation", "fence")

function Latch.new(pump, name)
  return setmetatable({ pump = pump, name = options.expect(name, "string", "the name") }, Latch)
end

--- Set the latch to `count`; with `{ ttl = seconds }` it ends so long from now. Returns its generation, a string of digits; `nil, message,
-- "IN_USE"` if it has not opened yet.
function Latch:set(count, given)
  local ttl = options.check(given, { ttl = "number" }).ttl
  options.expect(count, "integer", "the count")
  return errors.numbers(self.pump:call("latch_set", self.name, count, ttl and options.ms(ttl, "the option 'ttl'") or 0), "generation")
end

--- Count the latch down by `n`, 1 if you do not say. Returns how many are to go.
function Latch:count_down(n)
  return errors.numbers(self.pump:call("latch_count_down", self.name, options.expect(n or 1, "integer", "the number")), "count")
end

--- How many are to go; 0: the latch is open.
function Latch:count()
  return errors.numbers(self.pump:call("latch_count", self.name), "count")
end

--- Wait until the latch opens. Returns the generation that has opened. Options: `wait` in seconds (none: without limit), `cancel`, and
-- `generation`: which one to wait for, as `set` returned it; the present one if you do not say.
function Latch:await(given)
  given = request.check(given, with_generation)
  local asked = request.new("LATCH", options.none, self.name)
  if given.generation then
    native.belay_request_set_generation(asked, given.generation)
  end
  return errors.numbers(self.pump:acquire(asked, given), "generation")
end

return options.class(Latch, "a latch", { new = true })
