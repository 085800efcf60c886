-- Set: begin a generation of a latch, unless one is running. Safe to repeat: a request sets once, and is told of the latch as it
-- is from then on.
--
-- KEYS  record, fence, queue
-- ARGV  1 packed: request (client and number, 30 bytes), count, time to live us (0 = for ever), highest fence seen, for how long
--         to remember the request us, not-after us (do nothing beyond that time)
--       2 prefix of inboxes   3 info
-- Replies, packed, code and server time first:
--   1 set       generation, count
--   2 in use    generation, count
--   3 more (call again at once: waiters of the generation before are still to be told): 0, 0
--   4 late
--   8 missing (this request has set it before, and it is gone): 0, 0
-- Messages: passed to waiters of the generation before, where who opened it has not told them or its time to live has ended.
-- with: calls fences messages queue foreign latch latch_requests latch_waiters

local SET, IN_USE, MORE, MISSING = 1, 2, 3, 8

check_call(#KEYS >= 3 and #ARGV == 3 and #ARGV[1] == 70)
local request, count, life, highest, time, not_after = struct.unpack('<c30ddddd', ARGV[1])
local inbox, info = ARGV[2], ARGV[3]
check_call(sound(count) and count > 0 and sound(life) and sound(highest) and sound(time) and sound(not_after)
  and #info <= @LONGEST_GROUP@)
local ts = now()
check_call(sound(ts + life) and sound(ts + time))
if ts > not_after then
  return struct.pack('<Bd', @LATE@, ts)
end
local record = redis.call('GET', KEYS[1])
local latch, problem = latch_of(record, KEYS[1], ts)
if problem then
  return problem
end

local function answer(code, generation, left)
  return struct.pack('<Bddd', code, ts, generation, left)
end

if record and record:find(request, @LATCH_SIZE@ + 1, true) then
  return latch and answer(SET, latch.generation, latch.count) or answer(MISSING, 0, 0)
elseif latch and latch.count > 0 then
  return answer(IN_USE, latch.generation, latch.count)
end

local generation = math.max(highest_fence(KEYS, 1, highest) + 1, ts)
local queue = queue_at(KEYS[3], nil, true)
if tell_waiters(queue, KEYS[1], inbox, ts, latch and latch.generation or 0, latch and @OPENED@ or @GONE@) then
  return answer(MORE, 0, 0)
end
redis.call('SET', KEYS[2], struct.pack('<d', generation))
local requests, last, keep = record and remembered_of(record, ts) or '', ts, time
if requests ~= '' then -- of a latch that is open or has ended
  local _, _, _, _, its_last, its_keep = struct.unpack('@LATCH_HEADER@', record)
  last, keep = math.max(last, its_last), math.max(keep, its_keep)
end
requests = requests .. struct.pack('@LATCH_REQUEST@', request, last)
local room = room_of(@LATCH_SIZE@ + #info + #requests, requests)
record = struct.pack('@LATCH_HEADER@', @VERSION@, @LATCH@, 0, count, last, keep, room, generation,
  latch and latch.opened_since or generation, life > 0 and ts + life or 0, #info) .. info .. requests
if life > 0 then
  redis.call('SET', KEYS[1], record, 'PX', math.ceil((math.max(ts + life, last + keep) - ts) / 1000) + @SWEEP_MS@)
else
  redis.call('SET', KEYS[1], record)
end
return answer(SET, generation, count)
