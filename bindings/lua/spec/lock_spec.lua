local belay = require "belay"
local support = require "spec.support"

describe("a lock", function()
  local server, client, other

  setup(function()
    server = support.server()
    client = assert(belay.connect(server.url, { watchdog_lease = 1, label = "spec" }))
    other = assert(belay.connect(server.url, { watchdog_lease = 1 }))
  end)

  teardown(function()
    client:close()
    other:close()
    server:stop()
  end)

  it("excludes others until it is released", function()
    local name = support.name()
    local hold = assert(client:lock(name):acquire { wait = 5 })
    local none, message, status, details = other:lock(name):try()
    assert.is_nil(none)
    assert.equal("BUSY", status)
    assert.truthy(message:find(name, 1, true))
    assert.equal("RETRY", details.class)
    assert.is_true(hold:release())
    assert.is_true(assert(other:lock(name):acquire { wait = 5 }):release())
  end)

  it("gives up after the wait", function()
    local name = support.name()
    local hold = assert(client:lock(name):acquire())
    assert.equal("TIMEOUT", select(3, other:lock(name):acquire { wait = 0.01 }))
    assert.equal("TIMEOUT", select(3, other:lock(name):acquire { wait = 0.0001 })) -- a short wait is no try
    assert.equal("TIMEOUT", select(3, other:lock(name):acquire { wait = 1e-300 }))
    assert.equal("BUSY", select(3, other:lock(name):acquire { wait = 0 }))
    assert.is_true(hold:release())
  end)

  it("has fences of digits that only rise", function()
    local lock, last = client:lock(support.name()), ""
    for _ = 1, 3 do
      local hold = assert(lock:acquire())
      assert.equal("string", type(hold:fence()))
      assert.truthy(hold:fence():match "^%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d$")
      assert.is_true(hold:fence() > last)
      last = hold:fence()
      hold:release()
      assert.equal(last, hold:fence())
    end
  end)

  it("takes names of any bytes", function()
    for _, name in ipairs { "a\0b", "a\0c", "\255\254", "emoji \240\159\148\146", "}x", ("n"):rep(1024) } do
      local hold = assert(client:lock(name):acquire { wait = 5 })
      assert.equal("BUSY", select(3, other:lock(name):try()))
      assert.equal(1, #other:inspect(name).members)
      assert.is_true(hold:release())
    end
  end)

  it("refuses a wrong name with a status, and a wrong type with an error", function()
    assert.equal("INVALID_ARGUMENT", select(3, client:lock(""):acquire()))
    assert.equal("INVALID_ARGUMENT", select(3, client:lock(("n"):rep(1025)):acquire()))
    assert.has_error(function() client:lock(nil) end)
    assert.has_error(function() client:lock { 7 } end)
    assert.has_error(function() client:lock("a"):acquire { wiat = 5 } end)
    assert.has_error(function() client:lock("a"):acquire { wait = "5" } end)
    assert.has_error(function() client:lock("a"):acquire { wait = 0 / 0 } end)
    assert.has_error(function() client:lock("a", { lease = "10" }) end)
    assert.has_error(function() client:lock("a", { lease = 0 }) end)
    assert.has_error(function() client:lock("a"):acquire { cancel = {} } end)
    assert.has_error(function() client:lock("a"):acquire { owner = 1.5 } end)
    assert.has_error(function() client:lock("a"):try { wait = 1 } end)
    assert.has_error(function() client:lock("a"):holds(nil) end)
    assert.has_error(function() client:lock("a", { shared = 7 }) end)
    assert.has_error(function() client:break_name("a", "") end)
    assert.equal(0, client:metrics().pendings)
    assert.equal("INVALID_ARGUMENT", select(3, client:lock("a"):acquire { wait = -1 }))
    for _, lease in ipairs { 0.001, 1e-300, -1e-9 } do
      local _, message, status = client:lock("a", { lease = lease }):acquire()
      assert.equal("INVALID_ARGUMENT", status)
      assert.truthy(message:match "^lease was %-?0%.001 s: 0%.1%.%.86400 s is allowed$", message)
    end
    local hold = assert(client:lock(support.name(), { lease = 60 }):acquire())
    local latch = client:latch(support.name())
    for want, refused in pairs {
      ["max_hold was 0.002 s: 0.1..2592000 s is allowed"] = { client:lock("a", { max_hold = 0.002 }):acquire() },
      ["lock_delay was 120 s: 0..60 s is allowed"] = { client:lock("a", { lock_delay = 120 }):acquire() },
      ["wait was -5 s: 0 or more s is allowed"] = { client:lock("a"):acquire { wait = -5 } },
      ["ttl was 0.004 s: 0.1..2592000 s is allowed"] = { latch:set(1, { ttl = 0.004 }) },
      ["lease was 0.005 s: 0.1..86400 s is allowed"] = { hold:extend(0.005) },
      ["count was 0: 1..1000000000 is allowed"] = { latch:set(0) },
      ["watchdog_lease was 0.001 s: 0.1..86400 s is allowed"] = { belay.connect(server.url, { watchdog_lease = 0.001 }) },
      ["request_timeout was 0.001 s: 0.01..3600 s is allowed"] = { belay.connect(server.url, { request_timeout = "0.001" }) },
      ["watchdog_lease was 'ten': 0.1..86400 s is allowed"] = { belay.connect(server.url, { watchdog_lease = "ten" }) },
    } do
      assert.same({ want, "INVALID_ARGUMENT" }, { refused[2], refused[3] })
    end
    assert.is_true(hold:release())
    local ok, problem = pcall(function() client:lock("a"):acquire { wiat = 5 } end)
    assert.is_false(ok)
    assert.truthy(problem:match "lock_spec.lua:%d+: there is no option 'wiat'")
  end)

  it("is re-entered by its owner", function()
    local lock = client:lock(support.name())
    local first = assert(lock:acquire { owner = 7 })
    local second = assert(lock:acquire { owner = 7 })
    assert.equal(2, lock:holds(7))
    assert.equal("BUSY", select(3, lock:try { owner = 8 }))
    first:release()
    assert.equal("BUSY", select(3, lock:try { owner = 8 }))
    second:release()
    assert.is_true(assert(lock:acquire { owner = 8, wait = 5 }):release())
  end)

  it("takes several names or none", function()
    local a, b = support.name(), support.name()
    local hold = assert(client:lock({ a, b }):acquire())
    assert.equal(2, #hold:fences())
    assert.equal(hold:fence(2), hold:fences()[2])
    assert.error_matches(function() hold:fence(3) end, "has no name number 3")
    assert.equal("BUSY", select(3, other:lock(b):try()))
    hold:release()
    local held = assert(other:lock(b):acquire())
    assert.equal("BUSY", select(3, client:lock({ a, b }):try()))
    assert.is_true(assert(other:lock(a):acquire { wait = 5 }):release())
    held:release()
  end)

  it("is shared by readers and by an identity", function()
    local name = support.name()
    local first = assert(client:lock(name, { shared = true }):acquire())
    local second = assert(other:lock({ shared = { name } }):acquire { wait = 5 })
    assert.equal("BUSY", select(3, other:lock(name):try()))
    assert.is_true(client:inspect(name).members[1].shared)
    assert.equal("WOULD_DEADLOCK", (function()
      local reader = assert(client:lock(name, { shared = true }):acquire { owner = 3 })
      local status = select(3, client:lock(name):acquire { owner = 3 })
      reader:release()
      return status
    end)())
    first:release()
    second:release()
    local by = client:lock(name, { identity = "order\0 7" })
    first = assert(by:acquire { wait = 5 })
    second = assert(other:lock(name, { identity = "order\0 7" }):acquire { wait = 5 })
    assert.equal(first:fence(), second:fence())
    assert.equal("BUSY", select(3, other:lock(name, { identity = "order\0 8" }):try()))
    first:release()
    second:release()
  end)

  it("compares fences as numbers", function()
    local lock = client:lock(support.name())
    local first = assert(lock:acquire())
    assert(first:release())
    local second = assert(lock:acquire())
    assert(second:release())
    assert.is_true(belay.newer(second:fence(), first:fence()))
    assert.is_false(belay.newer(first:fence(), second:fence()))
    assert.is_false(belay.newer(first:fence(), first:fence()))
    assert.is_true(belay.newer("10", "9"))
    assert.is_true(belay.newer("9007199254740991", "9007199254740990"))
    assert.error_matches(function()
      belay.newer("10", "x")
    end, "the second fence must be a string of 1 to 18 digits, not 'x'")
  end)

  it("says how long somebody else has a lock still", function()
    local name = support.name()
    local hold = assert(client:lock(name, { lease = 60 }):acquire())
    for _, given in ipairs { { wait = 0 }, { wait = 0.05 } } do
      local details = select(4, other:lock(name):acquire(given))
      assert.is_true(details.remaining > 30 and details.remaining <= 60)
    end
    hold:release()
  end)

  it("refuses a list of names with a gap", function()
    for key, spec in pairs {
      ["2"] = { "a", nil, "b" },
      ["1"] = { nil, "b" },
      ["3"] = { "a", "b", [2.5] = "c" },
      ["4"] = { "a", "b", "c", [0] = "z" },
    } do
      assert.error_matches(function()
        client:lock(spec)
      end, "name number " .. key .. " must be a string, not nil")
    end
    assert.error_matches(function()
      client:lock { "a", shared = { "q", nil, "r" } }
    end, "name number 2 must be a string")
    assert.error_matches(function()
      client:lock { "a", shared = { x = "r" } }
    end, "the option 'shared' must be true or a list of names: it has 'x'")
    assert.error_matches(function()
      client:lock({ "a", lease = 1 }, { lease = 2 })
    end, "the options stand twice")
  end)

  it("refuses a method without its object", function()
    local lock = client:lock(support.name())
    local hold = assert(lock:acquire())
    for method, call in pairs {
      release = function() hold.release() end,
      acquire = function() lock.acquire(hold) end,
      ping = function() client.ping() end,
      close = function() client.close(hold) end,
      fence = function() hold.fence(client) end,
    } do
      local ok, problem = pcall(call)
      assert.is_false(ok)
      assert.truthy(problem:find("lock_spec.lua:%d+: `" .. method .. "` must be called with a colon on a"), problem)
    end
    assert.is_true(client:ping())
    assert.error_matches(function() hold:fence(2) end, "has no name number 2")
    assert.error_matches(function() hold:fence "x" end, "the number of a name must be a whole number")
    assert.error_matches(function() lock:holds(1, 2) end, "has no name number 2")
    assert.error_matches(function() lock:with { wait = 1 } end, "the work must be a function, not nil")
    assert.is_true(hold:release())
  end)

  it("downgrades to a reader's", function()
    local name = support.name()
    local hold = assert(client:lock(name):acquire())
    assert.is_true(hold:downgrade())
    assert.is_true(assert(other:lock(name, { shared = true }):acquire { wait = 5 }):release())
    assert.equal("INVALID_ARGUMENT", select(3, hold:downgrade()))
    hold:release()
  end)

  it("has a fixed lease that extend prolongs", function()
    local hold = assert(client:lock(support.name(), { lease = 5 }):acquire())
    assert.is_true(hold:remaining() <= 5)
    assert.is_true(hold:extend(60))
    assert.is_true(hold:remaining() > 30)
    assert.equal("HELD", hold:state())
    assert.is_true(hold:verify())
    hold:release()
    assert.equal("UNKNOWN_HOLD", select(3, hold:release()))
    assert.equal("RELEASED", hold:state())
    assert.equal(0, hold:remaining())
    assert.equal("UNKNOWN_HOLD", select(3, hold:verify()))
    hold = assert(client:lock(support.name(), { lease = 0.1 }):acquire())
    support.eventually(function() return hold:state() == "LOST" end)
    assert.equal("LEASE_ENDED", select(4, hold:release()).reason)
    hold = assert(client:lock(support.name()):acquire())
    assert.equal("INVALID_ARGUMENT", select(3, hold:extend(60)))
    hold:release()
  end)

  it("tells of a loss, once", function()
    local name, told = support.name(), {}
    local hold = assert(client:lock(name):acquire {
      on_lost = function(lost, reason, message)
        told[#told + 1] = { lost, reason, message }
      end,
    })
    local losers = assert(other:break_name(name, hold:fence()))
    assert.equal("spec", losers[1].label)
    support.eventually(function() client:poll() return #told > 0 end)
    assert.equal(hold, told[1][1])
    assert.equal("BROKEN", told[1][2])
    assert.truthy(told[1][3]:find(name, 1, true))
    assert.equal("LOST", hold:state())
    assert.equal(0, hold:remaining())
    local _, _, status, details = hold:release()
    assert.equal("LOST", status)
    assert.equal("BROKEN", details.reason)
    client:poll()
    assert.equal(1, #told)
    local late
    hold:on_lost(function(_, reason) late = reason end)
    assert.equal("BROKEN", late)
  end)

  it("is at risk when the server does not answer, and recovers", function()
    local own = support.server()
    local alone, news = assert(belay.connect(own.url, { watchdog_lease = 4 })), {}
    local hold = assert(alone:lock("a"):acquire())
    hold:on_at_risk(function() news[#news + 1] = "at risk" end)
    hold:on_recovered(function() news[#news + 1] = "recovered" end)
    own:pause()
    support.eventually(function() return hold:state() == "AT_RISK" end)
    own:go_on()
    support.eventually(function() alone:poll() return news[2] end)
    assert.same({ "at risk", "recovered" }, news)
    assert.is_true(hold:release())
    alone:close()
    own:stop()
  end)

  it("says for how long an outcome is in doubt", function()
    local own = support.server()
    local alone = assert(belay.connect(own.url, { request_timeout = 0.2 }))
    assert(alone:ping())
    own:pause()
    local _, message, status, details = alone:lock("a"):try()
    assert.equal("UNAVAILABLE", status)
    assert.truthy(#message > 0)
    assert.is_true(details.in_doubt > 0)
    own:go_on()
    alone:close()
    own:stop()
  end)

  it("ends at max_hold", function()
    local hold = assert(client:lock(support.name(), { max_hold = 0.1 }):acquire())
    support.eventually(function() return hold:state() == "LOST" end)
    assert.equal("MAX_HOLD", select(4, hold:release()).reason)
  end)

  it("stays closed to others for its delay after a loss", function()
    local name = support.name()
    local hold = assert(client:lock(name, { lease = 0.1, lock_delay = 60 }):acquire())
    support.eventually(function() return hold:state() == "LOST" end)
    assert.equal("BUSY", select(3, other:lock(name):try()))
    hold:release()
  end)

  it("is released without waiting, and abandoned", function()
    local name = support.name()
    assert.is_true(assert(client:lock(name):acquire()):release { wait = false })
    local hold = assert(client:lock(name):acquire { wait = 5 })
    assert.is_true(hold:abandon())
    assert.equal("UNKNOWN_HOLD", select(3, hold:release()))
    assert.equal("UNKNOWN_HOLD", select(3, hold:abandon()))
    assert.is_true(assert(other:lock(name):acquire { wait = 10 }):release())
  end)

  local function lose(hold, name)
    assert(other:break_name(name))
    support.eventually(function() return hold:state() == "LOST" end)
  end

  it("is released after the work of with, also after an error", function()
    local name = support.name()
    local a, b = client:lock(name):with({ wait = 5 }, function(hold) return hold:state(), 2 end)
    assert.same({ "HELD", 2 }, { a, b })
    assert.equal("HELD", client:lock(name):with(function(hold) return hold:state() end))
    assert.has_error(function()
      client:lock(name):with(nil, function() error("broken work", 0) end)
    end, "broken work")
    local hold = assert(other:lock(name):acquire { wait = 5 })
    assert.equal("BUSY", select(3, client:lock(name):with({ wait = 0 }, error)))
    hold:release()
    assert.error_matches(function()
      client:lock(name):with(nil, function(lost) lose(lost, name) end)
    end, "was lost")
  end)

  local it_closes = _VERSION == "Lua 5.4" and it or function() end -- no other version has such blocks
  it_closes("is released at the end of a block", function()
    local name = support.name()
    local block = assert(load [[
      local lock, work = ...
      local hold <close> = assert(lock:acquire { wait = 5 })
      work(hold)
    ]])
    block(client:lock(name), function(hold) assert.equal("HELD", hold:state()) end)
    assert.has_error(function() block(client:lock(name), function() error("broken work", 0) end) end, "broken work")
    assert.error_matches(function() block(client:lock(name), function(lost) lose(lost, name) end) end, "was lost")
    block(client:lock(name), function(hold) hold:release() end)
    assert.is_true(assert(other:lock(name):try()):release())
  end)

  it("is not acquired with a canceller that has cancelled", function()
    local stop = belay.canceller()
    stop:cancel()
    assert.equal("CANCELLED", select(3, client:lock(support.name()):acquire { cancel = stop }))
  end)
end)
