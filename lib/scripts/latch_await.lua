-- Await: pass an open latch, else wait to be told that it has opened. Safe to repeat.
--
-- KEYS  record, queue
-- ARGV  1 packed: claim (30 bytes), generation (0 = the current one), not-after us (do nothing beyond that time), ticket (a place
--         in the queue that this claim had, 0 = none), wait in turn (0, 1), secret (20 bytes, for the MAC of passed)
--       2 info
-- Replies, packed, code and server time first; numbers as those of acquire:
--   2 queued    places before it (0 = next), for how long the latch stands us (0 = for ever), ticket, generation, count
--   3 busy      for how long the latch stands us (0 = for ever), generation, count
--   4 late      5 stale (this client's newer claim waits)
--   7 passed    generation: it has been opened
--   8 missing   there is no latch, or that generation is not known to have been opened
-- with: calls messages queue join foreign latch

check_call(#KEYS >= 2 and #ARGV == 2 and #ARGV[1] == 75)
local claim, generation, not_after, ticket, in_turn = struct.unpack('<c30dddB', ARGV[1])
local client, epoch = claim:sub(1, @CLIENT_SIZE@), epoch_of(claim)
check_call(sound(epoch) and sound(generation) and sound(ticket))
local ts = now()
if ts > not_after then
  return struct.pack('<Bd', @LATE@, ts)
end
local header = redis.call('GETRANGE', KEYS[1], 0, @LATCH_SIZE@ - 1)
local latch, problem = latch_of(header ~= '' and header, KEYS[1], ts)
if problem then
  return problem
end

local queue = queue_at(KEYS[2], client, true)
local entry = queue.entry
local newer = entry and epoch_of(entry) > epoch
local function leave_queue()
  if entry and not newer then
    remove(queue, queue.place)
    save(queue)
  end
end

local earlier = latch and generation ~= 0 and generation < latch.generation
if not latch or generation > latch.generation or (earlier and generation < latch.opened_since) then
  leave_queue()
  return struct.pack('<Bd', @MISSING@, ts)
elseif earlier or latch.count == 0 then
  leave_queue()
  return struct.pack('<Bdd', @PASSES@, ts, earlier and generation or latch.generation)
end

local remaining = latch.expires == 0 and 0 or latch.expires - ts
if in_turn == 0 then
  return struct.pack('<Bdddd', @BUSY@, ts, remaining, latch.generation, latch.count)
elseif newer then
  return struct.pack('<Bd', @STALE@, ts)
end

local since = ts
if entry and epoch_of(entry) == epoch then
  keep_queue(queue, ts)
  since = struct.unpack('<d', entry, @SINCE_OFFSET@ + 1)
else
  leave_queue()
end
local place = join(queue, client,
  struct.pack('@ENTRY@', claim, latch.generation, 0, @NO_PERMITS@, 0, since, 0, ts, ARGV[1]:sub(56)) .. ARGV[2], ticket, ts)
return struct.pack('<Bdddddd', @QUEUED@, ts, place - queue.head, remaining, place, latch.generation, latch.count)
