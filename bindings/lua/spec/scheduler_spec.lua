local belay = require "belay"
local cqueues = require "cqueues"
local support = require "spec.support"
local uv = require "luv"

local can_yield_in_pcall = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil
local close = rawget(coroutine, "close")

-- Each scheduler: start a coroutine, sleep in one, and run all to their end.
local controller
local schedulers = {
  luv = {
    spawn = function(work)
      coroutine.wrap(work)()
    end,
    sleep = function(seconds)
      local this, timer = coroutine.running(), uv.new_timer()
      timer:start(math.floor(seconds * 1000), 0, function()
        timer:close()
        assert(coroutine.resume(this))
      end)
      coroutine.yield()
    end,
    run = uv.run,
  },
  cqueues = {
    spawn = function(work)
      controller:wrap(work)
    end,
    sleep = cqueues.sleep,
    run = function()
      assert(controller:loop())
    end,
  },
}

for name, scheduler in pairs(schedulers) do
  describe("in coroutines of " .. name .. ",", function()
    local server, client, other

    local function open(given)
      given = given or {}
      given.scheduler = require("belay." .. name)
      return assert(belay.connect(server.url, given))
    end

    -- Runs `work` in a coroutine, and the scheduler to its end.
    local function run(work)
      controller = cqueues.new()
      local problem = "the work has not ended"
      scheduler.spawn(can_yield_in_pcall and function()
        local ok, told = xpcall(work, debug.traceback)
        problem = not ok and told
      end or function()
        work()
        problem = false
      end)
      scheduler.run()
      assert.is_false(problem)
    end

    local function eventually(predicate)
      for _ = 1, 2000 do
        if predicate() then
          return
        end
        scheduler.sleep(0.005)
      end
      error("it did not come about", 2)
    end

    setup(function()
      server = support.server()
      client = open()
      other = assert(belay.connect(server.url))
    end)

    teardown(function()
      client:close()
      other:close()
      server:stop()
    end)

    it("every call lets others run", function()
      local lock = support.name()
      run(function()
        local hold = assert(client:lock({ lock, lock .. "b", lease = 60 }):acquire { wait = 5 })
        assert.equal("HELD", hold:state())
        assert.is_true(hold:extend(60))
        assert.is_true(hold:verify())
        assert.equal("INVALID_ARGUMENT", select(3, hold:downgrade()))
        assert.equal("BUSY", select(3, client:lock(lock):try()))
        assert.equal("TIMEOUT", select(3, client:lock(lock):acquire { wait = 0.01 }))
        assert.equal(1, #client:inspect(lock).members)
        assert.equal(2, #client:list(lock .. "*"))
        assert.is_true(client:ping())
        assert.equal("OK", client:fenced_write(lock, hold:fence(), "SET", "a"))
        local semaphore = client:semaphore(lock .. "s", 2)
        local permit = assert(semaphore:acquire())
        assert.same({ 1, 2 }, { semaphore:available() })
        assert.same({ 2, 3 }, { semaphore:set_limit(3) })
        local latch = client:latch(lock .. "l")
        local generation = assert(latch:set(1))
        scheduler.spawn(function()
          assert.equal(0, latch:count_down())
        end)
        assert.equal(generation, latch:await { wait = 5 })
        assert.equal(0, latch:count())
        assert.is_true(permit:release())
        assert.is_true(hold:release())
        assert.equal(0, #client:break_name(lock))
      end)
      assert.equal(0, client.pump.waiting)
      assert.equal(0, client.pump.watched)
    end)

    it("a thousand wait for one name, each in its turn", function()
      local inside, most, done = 0, 0, 0
      local lock = client:lock(support.name())
      run(function()
        for _ = 1, 1000 do
          scheduler.spawn(function()
            local hold = assert(lock:acquire())
            inside = inside + 1
            most = math.max(most, inside)
            assert(hold:fence())
            inside = inside - 1
            done = done + 1
            assert(hold:release())
          end)
        end
      end)
      assert.equal(1, most)
      assert.equal(1000, done)
      assert.equal(0, client:metrics().pendings)
      assert.equal(0, client:metrics().holds)
    end)

    it("a cancelled wait ends, and leaves nothing", function()
      local lock, statuses = client:lock(support.name()), {}
      run(function()
        local hold = assert(lock:acquire())
        local stop = belay.canceller()
        for i = 1, 10 do
          scheduler.spawn(function()
            statuses[i] = select(3, lock:acquire { cancel = stop })
          end)
        end
        eventually(function() return client:metrics().pendings == 10 end)
        stop:cancel()
        eventually(function() return #statuses == 10 end)
        assert.equal("CANCELLED", select(3, lock:acquire { cancel = stop }))
        assert.is_nil(next(stop.waits))
        assert(hold:release())
        assert(assert(lock:try()):release())
      end)
      assert.equal("CANCELLED CANCELLED", statuses[1] .. " " .. statuses[10])
      assert.equal(0, client:metrics().pendings)
    end)

    it("a loss is told while nobody waits for anything", function()
      local lock, told = support.name(), nil
      run(function()
        local hold = assert(client:lock(lock):acquire { on_lost = function(_, reason) told = reason end })
        assert.equal(1, #other:break_name(lock))
        eventually(function() return told end)
        assert.equal("LOST", select(3, hold:release()))
      end)
      assert.equal("BROKEN", told)
    end)

    it("close ends the waits of others", function()
      local own, statuses = open(), {}
      local lock = own:lock(support.name())
      local hold
      run(function()
        hold = assert(lock:acquire())
        for i = 1, 10 do
          scheduler.spawn(function()
            statuses[i] = select(3, lock:acquire())
          end)
        end
        eventually(function() return own:metrics().pendings == 10 end)
        assert.is_true(own:close())
        assert.equal("CLOSED", select(3, own:ping()))
      end)
      assert.equal(10, #statuses)
      assert.equal("CLOSED", statuses[10])
      assert.equal("LOST", hold:state())
    end)

    it("close from outside ends them, too", function()
      local own, status = open(), nil
      local lock = own:lock(support.name())
      local hold = assert(lock:acquire())
      controller = cqueues.new()
      scheduler.spawn(function()
        status = select(3, lock:acquire())
      end)
      if name == "cqueues" then
        controller:step(0)
      end
      assert.is_true(own:close())
      scheduler.run()
      assert.equal("CLOSED", status)
      assert.equal("LOST", select(3, hold:release()))
    end)

    it("a refused submission is an error of its call", function()
      local own, statuses = open { max_pending = 2 }, {}
      local lock = own:lock(support.name())
      run(function()
        local hold = assert(lock:acquire())
        for _ = 1, 3 do
          scheduler.spawn(function()
            local got, _, status = lock:acquire { wait = 0.5 }
            statuses[status or "OK"] = (statuses[status or "OK"] or 0) + 1
            if got then
              got:release()
            end
          end)
        end
        eventually(function() return own:metrics().pendings == 2 end)
        assert(hold:release())
      end)
      assert.same({ TOO_MANY_PENDING = 1, OK = 2 }, statuses)
      own:close()
    end)

    it("where a coroutine cannot yield, a call blocks and leaves nothing", function()
      local lock, state = client:lock(support.name()), nil
      run(function()
        assert(pcall(string.gsub, "x", ".", function()
          local hold = assert(lock:acquire { wait = 5 })
          state = hold:state()
          assert(hold:release())
        end))
        assert.equal("HELD", state)
        assert.equal(0, client:metrics().holds)
        assert.equal(0, client:metrics().pendings)
      end)
    end)

    it("a callback that waits is told so, and the client goes on", function()
      local warnings, states, kept = {}, {}, {} -- a dropped hold is told nothing
      local own = open { warn = function(text) warnings[#warnings + 1] = text end }
      local function lose(on_lost)
        local lock = support.name()
        local hold = assert(own:lock(lock):acquire { on_lost = on_lost })
        assert(other:break_name(lock))
        kept[#kept + 1] = hold
        return hold
      end
      run(function()
        local first = lose(function(hold) hold:release() end)
        local second = lose(function() own:close() end)
        lose(function() own:ping() end)
        lose(function(hold) states[1] = select(3, hold:release { wait = false }) end)
        eventually(function() return #warnings == 3 and states[1] end)
        assert.is_true(own:ping())
        assert.equal("LOST", select(3, first:release()))
        assert.equal("LOST", second:state())
        assert.equal(4, #kept)
      end)
      for i = 1, 3 do
        assert.truthy(warnings[i]:match "scheduler_spec.lua:%d+: a callback must not wait", warnings[i])
      end
      assert.equal("LOST", states[1])
      own:close()
    end)

    it("a lost hold is LOST also after a shutdown", function()
      local own = open()
      run(function()
        local hold = assert(own:lock(support.name()):acquire())
        assert.is_true(own:shutdown())
        assert.equal("LOST", select(3, hold:release()))
      end)
      own:close()
    end)

    it("a server that does not answer is told of", function()
      local warnings = {}
      local lonely = assert(belay.connect("unix:///tmp/no-such-socket", {
        scheduler = require("belay." .. name), warn = function(text) warnings[#warnings + 1] = text end }))
      run(function()
        scheduler.spawn(function()
          lonely:lock("a"):acquire()
        end)
        eventually(function() return warnings[1] end)
        assert.truthy(warnings[1]:find("/tmp/no-such-socket", 1, true))
        lonely:close()
      end)
    end)

    -- A finalizer that takes events would take this one, and its coroutine would wait for ever: once LuaJIT with cqueues did.
    it("a collection of garbage between a call and its wait takes no event", function()
      local adapter, collected, mine = require("belay." .. name), 0, nil
      local collecting = setmetatable({
        waiter = function()
          support.eventually(function() return mine:metrics().undelivered_events > 0 end)
          collectgarbage()
          collectgarbage()
          collected = collected + 1
          return adapter.waiter()
        end,
      }, { __index = adapter })
      mine = assert(belay.connect(server.url, { scheduler = collecting }))
      run(function()
        local ended = false
        scheduler.spawn(function()
          for _ = 1, 500 do
            if ended then
              return
            end
            scheduler.sleep(0.01)
          end
          mine:close() -- ends the wait
        end)
        for _ = 1, 3 do
          assert(assert(mine:lock(support.name()):acquire()):release())
        end
        ended = true
      end)
      assert.equal(6, collected)
      mine:close()
    end)

    it("calls outside block, and a plain coroutine blocks", function()
      local lock = client:lock(support.name())
      assert.is_true(assert(lock:acquire { wait = 5 }):release())
      if name == "cqueues" then
        assert.is_true(coroutine.wrap(function()
          return assert(lock:acquire { wait = 5 }):release()
        end)())
      end
    end)

    it("nothing keeps the program alive", function()
      local output = support.program(([[
        local belay = require "belay"
        local client = assert(belay.connect("%s", { scheduler = require "belay.%s", log = function() end }))
        local controller = "%s" == "cqueues" and require("cqueues").new()
        local function work()
          assert(client:ping())
          held = assert(client:lock("kept"):acquire())
        end
        if controller then
          controller:wrap(work)
          assert(controller:loop())
        else
          coroutine.wrap(work)()
          require("luv").run()
        end
        print "end"
      ]]):format(server.url, name, name))
      assert.equal("end\nexit=0\n", output)
      assert.is_true(assert(other:lock("kept"):acquire { wait = 5 }):release())
    end)
  end)
end

describe("a controller of cqueues that was dropped while its coroutine waited", function()
  it("leaves nothing, and another one serves the client", function()
    local server = support.server()
    local other = assert(belay.connect(server.url))
    local client = assert(belay.connect(server.url, { scheduler = require "belay.cqueues" }))
    local hold = assert(other:lock("a"):acquire())
    local function drop()
      local dropped = cqueues.new()
      dropped:wrap(function() client:lock("a"):acquire() end)
      dropped:step(0)
      assert.equal(1, client.pump.waiting)
    end
    drop()
    support.eventually(function()
      collectgarbage()
      return client:metrics().pendings == 0
    end)
    assert.is_true(hold:release())
    local again = cqueues.new()
    again:wrap(function()
      local found = assert(client:lock("a"):acquire { wait = 5 })
      assert(found:release())
    end)
    assert(again:loop())
    assert.equal(0, client:metrics().holds)
    assert.equal(0, client.pump.waiting)
    other:close()
    client:close()
    server:stop()
  end)
end)

describe("a coroutine of luv that has ended while it waited", function()
  it("does not keep what it is granted", function()
    if not close then -- nothing else ends a waiting coroutine
      return assert.not_equal("Lua 5.4", _VERSION)
    end
    local server = support.server()
    local client = assert(belay.connect(server.url, { scheduler = require "belay.luv" }))
    local lock = client:lock "a"
    local hold = assert(lock:acquire())
    local waiting = coroutine.create(function() return lock:acquire() end)
    assert(coroutine.resume(waiting))
    support.eventually(function() return client:metrics().pendings == 1 end)
    close(waiting)
    hold:release()
    uv.run()
    assert.is_true(assert(lock:acquire { wait = 5 }):release())
    client:close()
    server:stop()
  end)
end)
