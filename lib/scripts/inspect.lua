-- Inspect: who holds a name and who waits for it. Changes nothing.
--
-- KEYS  record, fence, queue, members
-- ARGV  1 how many waiters, and how many members, at most
-- Reply: { server time (packed double), record or "", number of waiters, number of members, how many waiters follow, then
--          ticket (text), entry without the time it asked last and the secret of each in order; then end (text) and seat of each
--          member }
--        A latch has waiters but no members, and no record once its time to live has ended.
-- with: calls foreign record messages queue latch

local most = tonumber(ARGV[1] or '')
check_call(#KEYS >= 4 and most and sound(most))
local record = redis.call('GET', KEYS[1])
local ts = now()
local is_latch, problem = record and record:byte(2) == @LATCH@, nil
if is_latch then
  local latch
  latch, problem = latch_of(record, KEYS[1], ts)
  record = latch and record:sub(1, @LATCH_SIZE@)
else
  problem = unreadable(record, KEYS[1])
end
if problem then
  return problem
end
local is_shared = not is_latch and record and is_joint(record)
local now_text = string.format('%.0f', ts)
local standing = is_shared and redis.call('ZCOUNT', KEYS[4], now_text, '+inf') or 0
local queue = queue_at(KEYS[3])
local waiting = math.max(0, math.floor((redis.call('HLEN', KEYS[3]) - 1) / 2))
local reply = { struct.pack('<d', ts), record or '', waiting, standing, 0 }

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

local seats = standing > 0 and most > 0
  and redis.call('ZRANGE', KEYS[4], now_text, '+inf', 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES') or {}
for index = 1, #seats, 2 do
  reply[#reply + 1], reply[#reply + 2] = seats[index + 1], seats[index]
end
return reply
