-- Count down: take from a latch's count, which opens it at 0. Safe to repeat: a request counts once.
--
-- KEYS  record, fence, queue, seen
-- ARGV  1 packed: request (client and number, 30 bytes), by how much, for how long to remember the request us, not-after
--         us (do nothing beyond that time)
--       2 prefix of inboxes
-- Replies, packed, code and server time first:
--   1 counted (below 0 it stays at 0): generation, count
--   2 missing: 0, 0
--   3 more (open; call again at once: waiters are still to be told): generation, 0
--   4 late
-- Messages: passed to waiters, where it is open.
-- with: calls messages queue latch latch_requests latch_waiters

local COUNTED, MISSING, MORE = 1, 2, 3

check_call(#KEYS >= 4 and #ARGV == 2 and #ARGV[1] == 54)
local request, by, time, not_after = struct.unpack('<c30ddd', ARGV[1])
local inbox = ARGV[2]
check_call(sound(by) and by > 0 and sound(time) and sound(not_after))
local ts = now()
if ts > not_after then
  return struct.pack('<Bd', @LATE@, ts)
end
local latch, problem = latch_at(KEYS[1], ts)
if problem then
  return problem
end
if not latch then
  return struct.pack('<Bddd', MISSING, ts, 0, 0)
end

local seen = was_seen(KEYS[4], request)
local count = seen and latch.count or math.max(latch.count - by, 0)
local queue = count == 0 and queue_at(KEYS[3], nil, true)
if not seen then
  remember(KEYS[4], request, ts, time)
end
if count ~= latch.count then
  redis.call('SETRANGE', KEYS[1], @COUNT_OFFSET@, struct.pack('<d', count))
end
local more = queue and tell_waiters(queue, KEYS[1], inbox, ts, latch.generation, @OPENED@)
return struct.pack('<Bddd', more and MORE or COUNTED, ts, latch.generation, count)
