-- Await: pass an open latch, else (queue = 1) wait to be told that it has opened. Safe to repeat.
--
-- KEYS  record, fence, queue, waiters, seen
-- ARGV  1 packed: claim (30 bytes), generation (0 = the current one), not-after us (do nothing beyond that time), ticket (a place
--         in the queue that this claim had, 0 = none), queue (0, 1), secret (20 bytes, for the MAC of passed)
--       2 info
-- Replies, packed, code and server time first; numbers as those of acquire:
--   2 queued    position (0 = first), for how long the latch stands us (0 = for ever), ticket, generation, count
--   3 busy      for how long the latch stands us (0 = for ever), generation, count
--   4 late      5 stale (this client's newer claim waits)
--   7 passed    generation: it has been opened
--   8 missing   there is no latch, or that generation is not known to have been opened
-- with: calls layout messages latch latch_waiters

local QUEUED, BUSY, STALE, PASSES, MISSING = @QUEUED@, @BUSY@, @STALE@, @PASSES@, @MISSING@

check_call(#KEYS >= 5 and #ARGV == 2 and #ARGV[1] == 75)
local claim, generation, not_after, ticket, queue = struct.unpack('<c30dddB', ARGV[1])
local client, epoch = claim:sub(1, 22), claim:sub(23)
check_call(sound(epoch_of(epoch)) and sound(generation) and sound(ticket))
local ts = now()
if ts > not_after then
  return struct.pack('<Bd', LATE, ts)
end
local latch, problem = latch_at(KEYS[1], ts)
if problem then
  return problem
end

local entry = entry_of_waiter(KEYS[4], client)
local newer = entry and epoch_of(entry) > epoch_of(epoch)
local function leave_queue()
  if entry and not newer then
    redis.call('ZREM', KEYS[3], client)
    redis.call('HDEL', KEYS[4], client)
  end
end

local earlier = latch and generation ~= 0 and generation < latch.generation
if not latch or generation > latch.generation or (earlier and generation < latch.opened_since) then
  leave_queue()
  return struct.pack('<Bd', MISSING, ts)
elseif earlier or latch.count == 0 then
  leave_queue()
  return struct.pack('<Bdd', PASSES, ts, earlier and generation or latch.generation)
end

local remaining = latch.expires == 0 and 0 or latch.expires - ts
if queue == 0 then
  return struct.pack('<Bdddd', BUSY, ts, remaining, latch.generation, latch.count)
elseif newer then
  return struct.pack('<Bd', STALE, ts)
end

-- PEXPIRE is allowed when memory is full, and a script that has written may go on writing: who waits already may poll then.
local function keep_queue()
  redis.call('PEXPIRE', KEYS[3], @QUEUE_MS@)
  redis.call('PEXPIRE', KEYS[4], @QUEUE_MS@)
end

local place = redis.call('ZSCORE', KEYS[3], client)
if place and entry and entry:sub(1, 8) == epoch then
  ticket = tonumber(place)
  keep_queue()
elseif ticket == 0 then
  ticket = ts
end
redis.call('ZADD', KEYS[3], string.format('%.0f', ticket), client)
redis.call('HSET', KEYS[4], client,
  struct.pack(ENTRY, epoch, latch.generation, 0, NO_PERMITS, 0, 0, ts, ARGV[1]:sub(56)) .. ARGV[2])
keep_queue()
local position = redis.call('ZRANK', KEYS[3], client)
return struct.pack('<Bdddddd', QUEUED, ts, position, remaining, ticket, latch.generation, latch.count)
