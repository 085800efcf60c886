-- Inspect: who holds a name and who waits for it. Changes nothing.
--
-- KEYS  record, fence, queue, waiters, ends
-- ARGV  1 how many waiters, and how many members, at most
-- Reply: { server time (packed double), record or "", number of waiters, number of members, how many waiters follow, then
--          who, ticket (text), entry without the time and the secret or "" of each in order; then who, end (text), MEMBER or ""
--          of each member }
--        A latch has waiters but no members, and no record once its time to live has ended.
-- with: calls layout record latch

local most = tonumber(ARGV[1] or '')
check_call(#KEYS >= 5 and most and sound(most))
local record = redis.call('GET', KEYS[1])
local ts = now()
local is_latch, problem = begins_latch(record), nil
if is_latch then
  local latch
  latch, problem = latch_at(KEYS[1], ts)
  record = latch and record
else
  problem = unreadable(record, KEYS[1])
end
if problem then
  return problem
end
local function some_of(key, from)
  local list = redis.call('ZRANGE', key, from, from + math.max(most - 1, 0), 'WITHSCORES')
  return most > 0 and list or {}
end

-- Members that are as good as gone come first.
local listed = is_latch and 0 or redis.call('ZCARD', KEYS[5])
local standing = listed > 0
  and redis.call('ZRANGE', KEYS[5], string.format('%.0f', ts), '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
local gone = standing and redis.call('ZRANK', KEYS[5], standing) or listed
local waiting, held = some_of(KEYS[3], 0), gone < listed and some_of(KEYS[5], gone) or {}
local reply = { struct.pack('<d', ts), record or '', redis.call('ZCARD', KEYS[3]), listed - gone, #waiting / 2 }
local function without_secret(entry)
  return #entry < ENTRY_SIZE and '' or entry:sub(1, ASKED_OFFSET) .. entry:sub(ENTRY_SIZE + 1)
end
local function add(list, mark)
  for index = 1, #list, 2 do
    local text = redis.call('HGET', KEYS[4], mark .. list[index]) or ''
    reply[#reply + 1] = list[index]
    reply[#reply + 1] = list[index + 1]
    reply[#reply + 1] = mark == '' and without_secret(text) or text
  end
end
add(waiting, '')
add(held, '=')
return reply
