--- The agent in Lua: it does what lines on stdin say, as ../../README.md has it. Requests block; tasks are coroutines of luv.
local belay = require "belay"
local uv = require "luv"

local client
local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
local holds, tasks, log = {}, {}, {}

local function unhex(text)
  return (text:gsub("%x%x", function(byte)
    return string.char(tonumber(byte, 16))
  end))
end

local function hex(bytes)
  return (bytes:gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end):gsub("%z", "00"))
end

local function split(text)
  local words = {}
  for word in text:gmatch "[^,]+" do
    words[#words + 1] = unhex(word)
  end
  return words
end

local function seconds(ms)
  return ms and tonumber(ms) / 1000
end

local function ms(time)
  return time and ("%.0f"):format(time * 1000)
end

local function integer(number)
  return number and ("%.0f"):format(number)
end

-- A reply's values, as "key=value".
local function reply(status, values)
  local words = { status }
  for key, value in pairs(values or {}) do
    words[#words + 1] = key .. "=" .. tostring(value)
  end
  return table.concat(words, " ")
end

local function failure(_, message, status, details)
  return reply(status, { message = message and hex(message), in_doubt = ms(details.in_doubt), reason = details.reason,
    remaining = ms(details.remaining),
    count = status == "IN_USE" and integer(details.count) or nil, fence = status == "STALE_FENCE" and details.fence or nil })
end

-- The reply of a call: its failure, or what `values` makes of its results.
local function result(values, first, ...)
  if first == nil or first == false then
    return failure(first, ...)
  end
  return reply("OK", values and values(first, ...))
end

local function nothing(...)
  return result(nil, ...)
end

local timer = uv.new_timer()

local function wait(predicate, limit)
  local over = false
  uv.update_time() -- the loop's clock stands while the agent waits for a line
  timer:start(math.floor(limit), 0, function()
    over = true
  end)
  repeat
    uv.run "nowait"
    if not predicate() and not over then
      uv.run "once"
    end
  until predicate() or over
  timer:stop()
  return predicate()
end

local function member_values(values, members)
  for i, member in ipairs(members) do
    local key = ("m%d."):format(i - 1)
    local is_holder = member.role == "holder"
    values[key .. "role"] = member.role
    values[key .. "client"] = member.client
    values[key .. "label"] = member.label and hex(member.label)
    values[key .. "host"] = member.host and hex(member.host)
    values[key .. "pid"] = integer(member.pid)
    values[key .. "since"] = ms(member.since)
    values[key .. "lease"] = ms(member.lease)
    values[key .. "fence"] = member.fence
    values[key .. "holds"] = is_holder and integer(member.holds) or nil
    values[key .. "waiters"] = is_holder and integer(member.local_waiters) or nil
    values[key .. "permits"] = integer(member.permits)
    values[key .. "shared"] = member.shared and 1 or nil
  end
  return values
end

local function acquire(words, options)
  local label, kind, names = words[1], words[2], split(words[3])
  local given = { lease = seconds(options.lease), max_hold = seconds(options.max_hold), lock_delay = seconds(options.lock_delay),
    identity = options.identity and unhex(options.identity), confirmed = options.confirmed and true }
  local how = { owner = tonumber(options.owner), permits = tonumber(options.permits), cancel = options.cancel }
  local is_try, takes_all = options.wait == "0", options.permits == "0"
  if takes_all then
    how.permits = nil
  elseif options.wait ~= "-1" and not is_try then
    how.wait = seconds(options.wait)
  end
  local news = {}
  for key, word in pairs { on_lost = "LOST", on_at_risk = "AT_RISK", on_recovered = "RECOVERED" } do
    how[key] = function(_, reason)
      news[#news + 1] = reply("OK", { news = word, reason = reason })
    end
  end
  local lock
  if kind == "semaphore" then
    given.limit = tonumber(options.limit)
    lock = client:semaphore(names[1], given)
  else
    given.shared = kind == "read" or nil
    local is_plain = #names == 1 and next(given) == nil
    lock = client:lock(is_plain and names[1] or names, not is_plain and given or nil)
  end
  return result(function(hold)
    holds[label] = { hold = hold, news = news }
    return { fence = table.concat(hold:fences(), ","), permits = kind == "semaphore" and integer(hold:permits()) or nil }
  end, lock[takes_all and "try_all" or is_try and "try" or "acquire"](lock, how))
end

local function hold_of(words)
  return assert(holds[words[1]], "no such hold").hold
end

local function limits(available, limit)
  return { available = integer(available), limit = integer(limit) }
end

local function count(left)
  return { count = integer(left) }
end

local function generation(text)
  return { generation = text }
end

local calls = { acquire = acquire }

function calls.ping()
  return nothing(client:ping())
end

function calls.id()
  return reply("OK", { id = client:id() })
end

function calls.metrics()
  return result(function(metrics)
    for name, number in pairs(metrics) do
      metrics[name] = integer(number)
    end
    return metrics
  end, client:metrics())
end

function calls.release(words, options)
  return nothing(hold_of(words):release { wait = options.nowait == nil })
end

function calls.abandon(words)
  return nothing(hold_of(words):abandon())
end

function calls.hold(words)
  local hold = hold_of(words)
  if hold:state() == "RELEASED" then
    return reply "UNKNOWN_HOLD"
  end
  return result(function(state)
    return { state = state, remaining = ms(hold:remaining()), fence = table.concat(hold:fences(), ",") }
  end, hold:state())
end

function calls.extend(words, options)
  return nothing(hold_of(words):extend(seconds(options.lease)))
end

function calls.verify(words)
  return nothing(hold_of(words):verify())
end

function calls.downgrade(words)
  return nothing(hold_of(words):downgrade())
end

function calls.set_limit(words, options)
  return result(limits, client:semaphore(unhex(words[1])):set_limit(tonumber(options.limit)))
end

function calls.available(words)
  return result(limits, client:semaphore(unhex(words[1])):available())
end

function calls.latch_set(words, options)
  return result(generation, client:latch(unhex(words[1])):set(tonumber(options.count), { ttl = seconds(options.ttl) }))
end

function calls.latch_count_down(words, options)
  return result(count, client:latch(unhex(words[1])):count_down(tonumber(options.n)))
end

function calls.latch_count(words)
  return result(count, client:latch(unhex(words[1])):count())
end

function calls.latch_await(words, options)
  local how = { generation = options.generation, cancel = options.cancel }
  if options.wait ~= "-1" then
    how.wait = seconds(options.wait)
  end
  return result(generation, client:latch(unhex(words[1])):await(how))
end

function calls.fenced_write(words, options)
  local command = split(words[2])
  return result(function(text)
    return { text = text ~= "" and hex(text) or nil }
  end, client:fenced_write(unhex(words[1]), options.fence, unpack(command)))
end

function calls.inspect(words)
  return result(function(found)
    return member_values({ primitive = found.primitive, limit = integer(found.limit), available = integer(found.available),
      generation = found.generation, count = integer(found.count), slot = integer(found.slot), total = integer(found.total) }, found.members)
  end, client:inspect(unhex(words[1])))
end

calls["break"] = function(words, options)
  return result(function(losers)
    return member_values({}, losers)
  end, client:break_name(unhex(words[1]), options.fence))
end

function calls.list(words, options)
  return result(function(names, total)
    local values = { total = integer(total) }
    for i, name in ipairs(names) do
      values[("m%d.name"):format(i - 1)] = hex(name)
    end
    return values
  end, client:list(unhex(words[1]), tonumber(options.limit)))
end

local verbs = {}

function verbs.supports()
  return "OK cannot=fork"
end

local given -- to belay.connect

local function give(options)
  for name, value in pairs(options) do
    local time = name:match "(.*)_ms$"
    given[time or name] = time and tonumber(value) and tonumber(value) / 1000 or value
  end
end

function verbs.open(_, options)
  if client then
    client:close()
  end
  log = {}
  given = { scheduler = require "belay.luv" }
  give(options)
  local lines = log
  given.log = function(level, message)
    lines[#lines + 1] = reply("OK", { level = level, message = hex(message) })
  end
  given.log_events = options.log_events or "none"
  local ok, opened, message, status, details = pcall(belay.connect, given)
  if not ok then -- there is no such option
    return reply("INVALID_ARGUMENT", { message = hex(opened) })
  end
  return result(function()
    client = opened
  end, opened, message, status, details)
end

function verbs.change(_, options)
  give(options)
  return "OK"
end

function verbs.close()
  return nothing(client:shutdown())
end

function verbs.log(_, options)
  wait(function()
    return log[1]
  end, options.limit)
  return table.remove(log, 1) or "OK"
end

function verbs.news(words, options)
  local news = assert(holds[words[1]], "no such hold").news
  wait(function()
    return news[1]
  end, options.limit)
  return table.remove(news, 1) or "OK"
end

local function bad(problem)
  return reply("BAD", { message = hex(tostring(problem)) })
end

local function perform(verb, words, options)
  local ok, answer = pcall(calls[verb] or error, words, options)
  return ok and answer or bad(answer)
end

function verbs.start(words, options)
  local task = { stop = belay.canceller() }
  tasks[words[1]] = task
  local verb = words[2]
  options.cancel = task.stop
  local begun, problem = coroutine.resume(coroutine.create(function() -- no pcall within: Lua 5.1 does not yield across one
    task.reply = calls[verb]({ unpack(words, 3) }, options)
  end))
  if not begun then
    task.reply = bad(problem)
  end
  return "OK"
end

function verbs.await(words, options)
  local task = assert(tasks[words[1]], "no such task")
  return wait(function()
    return task.reply
  end, options.limit) or "PENDING"
end

function verbs.cancel(words)
  assert(tasks[words[1]], "no such task").stop:cancel()
  return "OK"
end

for line in io.lines() do
  local words, options = {}, {}
  for word in line:gmatch "%S+" do
    local key, value = word:match "^([%w_]+)=(.*)$"
    if key then
      options[key] = value
    else
      words[#words + 1] = word
    end
  end
  local verb = table.remove(words, 1)
  local ok, answer
  if verbs[verb] then
    ok, answer = pcall(verbs[verb], words, options)
  else
    ok, answer = true, perform(verb, words, options)
  end
  io.write(ok and answer or bad(answer), "\n")
  io.flush()
end
if client then
  client:close()
end
