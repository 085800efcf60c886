--- How holds and clients end without a release or a close.
local belay = require "belay"
local process = require "process"
local support = require "spec.support"
local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
local compiler = rawget(_G, "jit")

-- A finalizer may free what only the next collection finds.
local function collect()
  for _ = 1, 4 do
    collectgarbage()
  end
end

-- Whether an error after `count` instructions has ended `work`, as Ctrl-C would.
local function is_interrupted(count, work)
  return not pcall(function()
    debug.sethook(function()
      debug.sethook()
      error "enough"
    end, "", count)
    work()
    debug.sethook()
  end)
end

describe("without a release,", function()
  local server, client

  setup(function()
    -- Code that LuaJIT has compiled calls no hooks.
    if compiler then
      compiler.off()
      compiler.flush()
    end
    server = support.server()
    client = assert(belay.connect(server.url))
  end)

  teardown(function()
    client:close()
    server:stop()
    if compiler then
      compiler.on()
    end
  end)

  local function program(text)
    return support.program(("local url = %q\n"):format(server.url) .. text)
  end

  it("a dropped hold is abandoned, with one warning", function()
    local warnings = {}
    local own = assert(belay.connect(server.url, { watchdog_lease = 0.5, warn = function(text) warnings[#warnings + 1] = text end }))
    local name = support.name() .. "\0"
    local function drop()
      assert(own:lock(name):acquire { on_lost = error })
    end
    drop()
    collect()
    assert.equal(1, #warnings)
    assert.truthy(warnings[1]:find(name:gsub("%z", "") .. "\\x00", 1, true))
    assert.equal(0, own.pump.watched)
    assert.equal("BUSY", select(3, client:lock(name):try()))
    assert.is_true(assert(client:lock(name):acquire { wait = 10 }):release())
    collect()
    assert.equal(1, #warnings)
    assert.equal(0, own:metrics().holds)
    own:close()
  end)

  -- An instruction later each time, from before the call until after it.
  it("a hold that an error of a hook has dropped is abandoned", function()
    local own = assert(belay.connect(server.url, { watchdog_lease = 0.5, warn = function() end }))
    local ended = 0
    for count = 1, 400 do
      local lock, hold = own:lock(support.name()), nil
      if is_interrupted(count, function() hold = lock:acquire() end) then
        ended = ended + 1
      else
        hold:release()
      end
    end
    assert.is_true(ended > 20)
    collect()
    assert.equal(0, own:metrics().holds)
    own:close()
  end)

  it("a hold whose release an error of a hook has ended can be released again, or is abandoned", function()
    local own = assert(belay.connect(server.url, { watchdog_lease = 0.5, warn = function() end }))
    local ended = 0
    for count = 1, 400 do
      local hold = assert(own:lock(support.name()):acquire())
      if is_interrupted(count, function() hold:release() end) then
        ended = ended + 1
        if count % 2 == 0 then
          hold:release()
          assert.equal(0, own:metrics().holds)
        end
        hold = nil -- luacheck: no unused
        collect()
        assert.equal(0, own:metrics().holds)
      end
    end
    assert.is_true(ended > 20)
    own:close()
  end)

  it("a client is not left in a callback that an error of a hook has ended", function()
    local own = assert(belay.connect(server.url, { warn = function() end }))
    for count = 1, 200 do
      local name = support.name()
      local hold = assert(own:lock(name):acquire { on_lost = function() end })
      assert(client:break_name(name))
      is_interrupted(count, function() own:poll(0.2) end)
      assert.is_true(own:ping())
      hold:release()
    end
    own:close()
  end)

  it("a finalizer that runs late may call the client", function()
    assert.equal("exit=0", program [[
      local newproxy = rawget(_G, "newproxy") or function() return setmetatable({}, {}) end
      local late = newproxy(true)
      local belay = require "belay"
      local client = assert(belay.connect(url))
      getmetatable(late).__gc = function()
        client:lock("z"):try()
        belay.connect(url)
      end
      if type(late) == "table" then setmetatable(late, getmetatable(late)) end
    ]]:match "exit=%d+")
  end)

  it("a hold that has ended is collected silently", function()
    local warnings = {}
    local own = assert(belay.connect(server.url, { warn = function(text) warnings[#warnings + 1] = text end }))
    local function finish()
      assert(own:lock(support.name()):acquire()):release()
      assert(own:lock(support.name()):acquire()):release { wait = false }
      assert(own:lock(support.name()):acquire()):abandon()
      assert(own:lock(support.name()):with({}, tostring))
    end
    finish()
    collect()
    assert.same({}, warnings)
    own:close()
  end)

  it("a dropped client is freed", function()
    local before = client:metrics()
    local function drop()
      for _ = 1, 10 do
        local own = assert(belay.connect(server.url))
        own:lock(support.name())
        own:semaphore(support.name(), 2)
        own:ping()
      end
    end
    drop()
    collect()
    local after = client:metrics()
    assert.equal(before.process_clients, after.process_clients)
    assert.equal(before.process_events, after.process_events)
  end)

  it("the end of a program releases its holds", function()
    local output = program [[
      local belay = require "belay"
      client = assert(belay.connect(url))
      local other = assert(belay.connect(url))
      local hold = assert(client:lock("program:1"):acquire())
      local second = assert(other:lock("program:2"):acquire())
      print(hold:state(), second:state())
    ]]
    assert.equal("HELD\tHELD\nexit=0\n", output)
    assert.is_true(assert(client:lock("program:1"):try()):release())
    assert.is_true(assert(client:lock("program:2"):try()):release())
  end)

  it("an error of a program releases, or abandons with a warning", function()
    local output = program [[
      local belay = require "belay"
      local client = assert(belay.connect(url, { watchdog_lease = 0.2 }))
      local hold = assert(client:lock("program:3"):acquire())
      error "broken work"
    ]]
    assert.truthy(output:match "broken work")
    assert.truthy(output:match "exit=1\n$")
    assert.is_true(assert(client:lock("program:3"):acquire { wait = 10 }):release())
  end)

  it("two states in threads of their own work, and end", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(([[
      local belay = require "belay"
      local client = assert(belay.connect(%q))
      for _ = 1, 200 do
        local hold = assert(client:lock("threads"):acquire())
        assert(hold:fence())
        assert(hold:release())
      end
      assert(swig_type == nil and swig_equals == nil)
      kept = assert(client:lock("kept" .. client:id()):acquire())
    ]]):format(server.url))
    file:close()
    for _ = 1, 5 do
      assert.equal(0, process.threads(path, 4))
    end
    os.remove(path)
    assert.same({}, (client:list "kept*"))
    assert.equal(1, client:metrics().process_clients)
  end)

  it("a forked child says FORKED in words, and leaves the parent's holds alone", function()
    local own = assert(belay.connect(server.url))
    local lock, latch = own:lock(support.name()), own:latch(support.name())
    local hold = assert(lock:acquire())
    local function is_forked(call, ...)
      local none, message, status = call(...)
      return none == nil and status == "FORKED" and message:find("parent", 1, true) ~= nil
    end
    assert.equal(7, process.fork(function()
      local calls = {
        { own.ping, own }, { own.metrics, own }, { own.inspect, own, "a" }, { own.list, own, "*" }, { own.shutdown, own },
        { lock.acquire, lock }, { lock.try, lock }, { latch.count, latch }, { latch.set, latch, 1 },
        { hold.state, hold }, { hold.remaining, hold }, { hold.verify, hold },
        { hold.extend, hold, 5 }, { hold.downgrade, hold }, { hold.release, hold },
      }
      for i, call in ipairs(calls) do
        if not is_forked(unpack(call)) then
          return 10 + i
        end
      end
      own:close()
      collectgarbage()
      return 7
    end))
    assert.equal("HELD", hold:state())
    assert.is_true(hold:verify())
    assert.is_true(hold:release())
    own:close()
  end)
end)

describe("many cycles with errors and cancels", function()
  local server

  setup(function()
    server = support.server()
  end)

  teardown(function()
    server:stop()
  end)

  local function resident()
    collect()
    for line in io.lines "/proc/self/status" do
      local kilobytes = line:match "^VmRSS:%s*(%d+)"
      if kilobytes then
        return tonumber(kilobytes)
      end
    end
  end

  it("leave nothing", function()
    local cycles = tonumber(os.getenv "BELAY_LEAK_CYCLES" or 4000)
    local uv = require "luv"
    local client = assert(belay.connect(server.url, { scheduler = require "belay.luv" }))
    local lock = client:lock "a"
    local statuses = {}

    local function one(i)
      local stop = belay.canceller()
      local hold = assert(client:lock("a", i % 2 == 0 and { lease = 60 } or nil):acquire { wait = 10 })
      coroutine.wrap(function()
        statuses[select(3, lock:acquire { cancel = stop }) or "OK"] = true
      end)()
      statuses[select(3, lock:try())] = true
      statuses[select(3, client:lock(""):acquire())] = true
      stop:cancel()
      assert(hold:release())
    end

    local function run(from, to)
      coroutine.wrap(function()
        for i = from, to do
          one(i)
        end
      end)()
      uv.run()
    end

    run(1, cycles / 4)
    local before, start = resident(), client:metrics()
    run(cycles / 4 + 1, cycles)
    local after, last = resident(), client:metrics()
    for _, name in ipairs { "process_clients", "process_requests", "process_events", "holds", "pendings", "undelivered_events" } do
      assert.equal(start[name], last[name])
    end
    assert.same({ BUSY = true, CANCELLED = true, INVALID_ARGUMENT = true }, statuses)
    assert.is_true(after < before * 1.05, ("from %d to %d kB"):format(before, after))
    print(("# %s: %d cycles, from %d to %d kB"):format(os.getenv "BELAY_LUA" or _VERSION, cycles, before, after))
    assert.is_true(#client.pump.waits == 0 and next(client.pump.waits) == nil)
    client:close()
  end)
end)
