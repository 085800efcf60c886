-- Set: begin a generation of a latch, unless one is running. Safe to repeat: a request sets once, and is told of the latch as it
-- is from then on.
--
-- KEYS  record, fence, queue, seen
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
-- with: calls fences messages queue latch latch_requests latch_waiters

local SET, IN_USE, MORE, MISSING = 1, 2, 3, 8

check_call(#KEYS >= 4 and #ARGV == 3 and #ARGV[1] == 70)
local request, count, life, highest, time, not_after = struct.unpack('<c30ddddd', ARGV[1])
local inbox, info = ARGV[2], ARGV[3]
check_call(sound(count) and count > 0 and sound(life) and sound(highest) and sound(time) and sound(not_after))
local ts = now()
if ts > not_after then
  return struct.pack('<Bd', @LATE@, ts)
end
local latch, problem = latch_at(KEYS[1], ts)
if problem then
  return problem
end

local function answer(code, generation, left)
  return struct.pack('<Bddd', code, ts, generation, left)
end

if was_seen(KEYS[4], request) then
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
local record = struct.pack('@LATCH_HEADER@', @VERSION@, @LATCH@, 0, count, generation, latch and latch.opened_since or generation,
  life > 0 and ts + life or 0, request) .. info
if life > 0 then
  redis.call('SET', KEYS[1], record, 'PX', math.ceil(life / 1000) + @SWEEP_MS@)
else
  redis.call('SET', KEYS[1], record)
end
remember(KEYS[4], request, ts, time)
return answer(SET, generation, count)
