-- Inspect: who holds a name and who waits for it. Changes nothing.
--
-- KEYS  record, fence, queue, members, ends
-- ARGV  1 how many waiters, and how many members, at most
-- Reply: { server time (packed double), record or "", number of waiters, number of members, how many waiters follow, then
--          ticket (text), entry without the time it asked last and the secret of each in order; then who, end (text), MEMBER or
--          "" of each member }
--        A latch has waiters but no members, and no record once its time to live has ended.
-- with: calls record messages queue latch

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
-- Members that are as good as gone come first.
local listed = is_latch and 0 or redis.call('ZCARD', KEYS[5])
local standing = listed > 0
  and redis.call('ZRANGE', KEYS[5], string.format('%.0f', ts), '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
local gone = standing and redis.call('ZRANK', KEYS[5], standing) or listed
local queue = queue_at(KEYS[3])
local waiting = math.max(0, math.floor((redis.call('HLEN', KEYS[3]) - 1) / 2))
local reply = { struct.pack('<d', ts), record or '', waiting, listed - gone, 0 }

-- So many places at once, and so often: holes may lie between those who wait.
for first = queue.head, queue.head + @SKIPS@ * (@SKIPS@ - 1), @SKIPS@ do
  local places = {}
  for place = first, math.min(first + @SKIPS@, queue.tail) - 1 do
    places[#places + 1] = struct.pack('<d', place)
  end
  if #places == 0 or reply[5] == most then
    break
  end
  for index, entry in ipairs(redis.call('HMGET', KEYS[3], unpack(places))) do
    if entry and #entry >= @ENTRY_SIZE@ and reply[5] < most then
      reply[5] = reply[5] + 1
      reply[#reply + 1] = string.format('%.0f', first + index - 1)
      reply[#reply + 1] = entry:sub(1, @ASKED_OFFSET@) .. entry:sub(@ENTRY_SIZE@ + 1)
    end
  end
end

local members = gone < listed and most > 0 and redis.call('ZRANGE', KEYS[5], gone, gone + most - 1, 'WITHSCORES') or {}
for index = 1, #members, 2 do
  reply[#reply + 1] = members[index]
  reply[#reply + 1] = members[index + 1]
  reply[#reply + 1] = redis.call('HGET', KEYS[4], members[index]) or ''
end
return reply
