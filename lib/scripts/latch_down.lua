-- Count down: take from a latch's count, which opens it at 0. Safe to repeat: a request counts once.
--
-- KEYS  record, queue
-- ARGV  1 packed: request (client and number, 30 bytes), by how much, for how long to remember the request us, not-after
--         us (do nothing beyond that time), since: about when this request was first sent, the same in each call of it
--       2 prefix of inboxes
-- Replies, packed, code and server time first:
--   1 counted (below 0 it stays at 0; if the latch has ended since, as it was then): generation, count
--   2 missing: 0, 0
--   3 more (open; call again at once: waiters are still to be told): generation, 0
--   4 late
-- Messages: passed to waiters, where it is open.
-- with: calls messages queue foreign latch latch_requests latch_waiters

local COUNTED, MISSING, MORE = 1, 2, 3

check_call(#KEYS >= 2 and #ARGV == 2 and #ARGV[1] == 62)
local request, by, time, not_after, since = struct.unpack('<c30dddd', ARGV[1])
local inbox = ARGV[2]
check_call(by > 0 and are_sound(by, time, not_after, since, 0))
local ts = now()
check_call(sound(ts + time))
if ts > not_after then
  return struct.pack('<Bd', @LATE@, ts)
end
local header = redis.call('GETRANGE', KEYS[1], 0, @LATCH_SIZE@ - 1)
local latch, problem, ended = latch_of(header ~= '' and header, KEYS[1], ts)
if problem then
  return problem
end

local size = redis.call('STRLEN', KEYS[1])

-- Whether a latch has counted it. It would have a time of `since` at least: so it is mostly among the last, if any is as late.
local function was_counted(by_latch)
  if not by_latch or by_latch.last < since then
    return false
  end
  local first = @LATCH_SIZE@ + by_latch.info_size
  local from = math.max(first, size - @SKIPS@ * @LATCH_REQUEST_SIZE@)
  local requests = redis.call('GETRANGE', KEYS[1], from, -1)
  if from > first and struct.unpack('<d', requests, @CLAIM_SIZE@ + 1) >= since then
    requests = redis.call('GETRANGE', KEYS[1], first, -1)
  end
  return requests:find(request, 1, true) ~= nil
end

-- Adds it behind the others, and forgets what may be forgotten if there is much.
local function remember(count)
  -- Takes nobody out; but it is allowed when memory is full, and a script that has written may go on writing.
  redis.call('HDEL', KEYS[2], request)
  local last, keep, room = math.max(latch.last, ts, since), math.max(latch.keep, time), latch.room
  if latch.expires > 0 then
    redis.call('PEXPIRE', KEYS[1], math.ceil((math.max(latch.expires, last + keep) - ts) / 1000) + @SWEEP_MS@)
  end
  if size >= room then
    local requests, head = remembered_of(redis.call('GET', KEYS[1]), ts)
    redis.call('SET', KEYS[1], head .. requests, 'KEEPTTL')
    size = #head + #requests
    room = room_of(size, requests)
  end
  redis.call('SETRANGE', KEYS[1], size, struct.pack('@LATCH_REQUEST@', request, last))
  redis.call('SETRANGE', KEYS[1], @LATCH_COUNT_OFFSET@, struct.pack('<dddd', count, last, keep, room))
end

local counted = was_counted(latch or ended)
if not latch then
  return counted and struct.pack('<Bddd', COUNTED, ts, ended.generation, ended.count) or struct.pack('<Bddd', MISSING, ts, 0, 0)
end
local count = counted and latch.count or math.max(latch.count - by, 0)
local queue = count == 0 and queue_at(KEYS[2], nil, true)
if not counted then
  remember(count)
end
local more = queue and tell_waiters(queue, KEYS[1], inbox, ts, latch.generation, @OPENED@)
return struct.pack('<Bddd', more and MORE or COUNTED, ts, latch.generation, count)
