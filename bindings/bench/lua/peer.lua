-- Belay from Lua, as a side of the benchmark, as tests/bench/peer.h asks for one: peer.lua URL WORKLOAD NAME. One thread has one blocking
-- call at a time; what waits together waits in coroutines of cqueues.
local belay = require "belay"
local cqueues = require "cqueues"
local scheduler = require "belay.cqueues"

local THREADS, WAITERS, NAMES = 16, 10000, 16
local WARM_UP = 1
local HELD = 0.001 -- how long a process that takes turns holds the lock
local HELD_LONG, RETRY = 0.02, 0.01 -- while a master is replaced
local GATHER = 0.5 -- until then all waiters stand in line

local url, wanted, name = arg[1], arg[2], arg[3]
local now = cqueues.monotime

local function connect(options)
  return assert(belay.connect(url, options))
end

-- Says if the hold was lost: a machine that stands still for as long as a grant lasts loses one.
local function release(hold)
  local released, why = hold:release()
  if not released then
    io.stderr:write(tostring(why), "\n")
  end
end

-- Runs coroutines until all have ended.
local function together(steps)
  local queue = cqueues.new()
  for _, step in ipairs(steps) do
    queue:wrap(step)
  end
  assert(queue:loop())
end

-- Each workload works for so many seconds, at least for one step, and returns how long it has worked and what each of its steps took.
local workloads = {}

local function alone(locks)
  return function(seconds)
    local took = {}
    local began = now()
    local before = began
    while before - began < seconds do
      local hold = assert(locks():acquire())
      release(hold)
      local after = now()
      took[#took + 1] = after - before
      before = after
    end
    return before - began, took
  end
end

-- Names that nobody has used before.
local count = 0
local function fresh()
  count = count + 1
  return name .. ":" .. count
end

function workloads.pair()
  local client = connect()
  return alone(function()
    return client:lock(fresh())
  end)
end

function workloads.names16()
  local client = connect()
  return alone(function()
    local names = {}
    for i = 1, NAMES do
      names[i] = fresh()
    end
    return client:lock(names)
  end)
end

-- Coroutines of one client take turns on one name.
function workloads.shared16()
  local lock = connect({ scheduler = scheduler }):lock(name)
  local work = alone(function()
    return lock
  end)
  return function(seconds)
    local all, steps = {}, {}
    for i = 1, THREADS do
      steps[i] = function()
        local _, took = work(seconds)
        for _, each in ipairs(took) do
          all[#all + 1] = each
        end
      end
    end
    local began = now()
    together(steps)
    return now() - began, all
  end
end

-- Two processes hand the name to each other: a process asks again when the other has the lock. The steps are three times of
-- CLOCK_MONOTONIC: when the process asked, had the lock, and began to release it.
local function handoff(first)
  local lock = connect():lock(name)
  local from_other, to_other = assert(io.open("/dev/fd/3", "r")), assert(io.open("/dev/fd/4", "w"))
  to_other:setvbuf "no"
  return function(seconds)
    local times = {}
    local function turn()
      times[#times + 1] = now()
      local hold = assert(lock:acquire())
      times[#times + 1] = now()
      to_other:write "h"
      cqueues.sleep(HELD)
      times[#times + 1] = now()
      release(hold)
    end
    local began = now()
    if first then
      repeat
        turn()
        from_other:read(1)
      until now() - began >= seconds
      to_other:write "e"
    else
      while from_other:read(1) == "h" do
        turn()
      end
    end
    return now() - began, times
  end
end

function workloads.handoff_first()
  return handoff(true)
end

function workloads.handoff_second()
  return handoff(false)
end

-- Competes for the name, whatever happens to the server. The steps are three times of each hold: when the process asked, had the lock,
-- and began to release it.
function workloads.failover()
  local lock = connect():lock(name)
  return function(seconds)
    local times = {}
    local began = now()
    while now() - began < seconds do
      local asked = now()
      local hold = lock:acquire({ wait = began + seconds - asked })
      if hold then
        times[#times + 1] = asked
        times[#times + 1] = now()
        cqueues.sleep(HELD_LONG)
        times[#times + 1] = now()
        hold:release()
      else
        cqueues.sleep(RETRY)
      end
    end
    return now() - began, times
  end
end

-- Very many wait on one name that is held. A step is how long after its release one of them has it.
function workloads.waiters10000()
  local lock = connect({ scheduler = scheduler }):lock(name)
  return function(seconds)
    local took, began = {}, nil
    local first = assert(lock:acquire())
    local steps = { function()
      cqueues.sleep(GATHER)
      began = now()
      release(first)
    end }
    for i = 1, WAITERS do
      steps[i + 1] = function()
        local hold = lock:acquire({ wait = GATHER + seconds })
        if hold then
          took[#took + 1] = now() - began
          release(hold)
        end
      end
    end
    together(steps)
    return now() - began, took
  end
end

local function tell(worked, took)
  local line = { string.format("%.0f", worked * 1e6) }
  for i, each in ipairs(took) do
    line[i + 1] = string.format("%.1f", each * 1e6)
  end
  io.write(table.concat(line, " "), "\n")
  io.flush()
end

local work = workloads[wanted] and workloads[wanted]()
if not work then
  print "none it is not known"
  os.exit(0)
end
if wanted ~= "waiters10000" then -- which runs once before it counts
  work(WARM_UP)
end
io.write "ready\n"
io.flush()
for line in io.lines() do
  tell(work(tonumber(line) / 1000))
end
