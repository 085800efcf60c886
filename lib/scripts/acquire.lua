-- Acquire: take the lock if it is free and nobody waits, else (queue = 1) wait for it in turn. Safe to repeat with the same
-- claim: it is told again, and its lease counts from the latest call.
--
-- KEYS  record, fence, queue, waiters
-- ARGV  1 packed: claim (30 bytes), lease us, not-after us (do nothing beyond that time), grant lease us, ticket (a place
--         in the queue that this claim had, 0 = none), highest fence seen, queue (0, 1), local waiters
--       2 prefix of inboxes   3 info
-- Replies, packed, code and server time first:
--   1 granted   fence, end of its range, somebody waits (0, 1)
--   2 queued    position (0 = next), remaining lease us, ticket, highest fence of the slot, grant lease of a handoff that this
--               call has made and whose look-after is ours (0 = none)
--   3 busy      remaining lease us
--   4 late      5 stale (this client's newer claim stands)   6 more (call again at once)
-- Messages: grant and next to waiters, waits to the holder, settled to who handed it on.
local GRANTED, QUEUED, BUSY, LATE, STALE, MORE = 1, 2, 3, 4, 5, 6

check_call(#KEYS >= 4 and #ARGV == 3 and #ARGV[1] == 73)
local claim, lease, not_after, grant, ticket, highest, queue, local_waiters = struct.unpack('<c30dddddBH', ARGV[1])
local inbox, info = ARGV[2], ARGV[3]
local client, epoch = claim:sub(1, 22), claim:sub(23)
check_call(sound(epoch_of(epoch)) and sound(lease) and sound(grant) and sound(ticket) and sound(highest))
local record = redis.call('GET', KEYS[1])
local ts = now()

if ts > not_after then
  return struct.pack('<Bd', LATE, ts)
end
local problem = unreadable(record, KEYS[1])
if problem then
  return problem
end

local function granted(fence, last, waits)
  return struct.pack('<BdddB', GRANTED, ts, fence, last, waits)
end

local function take_it(above, waits)
  local fence, last = take(KEYS, 1, claim, ts, lease, above, waits, local_waiters, info)
  if waits then
    tell_next(KEYS, 1, inbox, ts, lease)
  end
  return granted(fence, last, waits and 1 or 0)
end

local held = record and expires(record) >= ts
if held and is_claim(record, claim) then
  local until_ = math.max(expires(record), ts + lease)
  prolong(KEYS[1], ts, until_, struct.pack('<d', until_), EXPIRES_OFFSET)
  settle(KEYS[1], record, inbox, ts)
  local waits, _, fence, _, last = struct.unpack('<Bc30ddd', record, WAITS_OFFSET + 1)
  return granted(fence, last, waits)
end
if held and record:sub(4, 25) == client then
  if epoch_of(record:sub(26)) > epoch_of(epoch) then
    return struct.pack('<Bd', STALE, ts)
  end
  held = false -- an older claim of this client: it asks anew, so it has freed that one
end

local anybody = redis.call('EXISTS', KEYS[3]) == 1
if not held and not anybody then
  return take_it(highest_fence(KEYS, 1, highest), false)
end

local entry = entry_of(KEYS[4], client)
if entry and epoch_of(entry) > epoch_of(epoch) then
  return struct.pack('<Bd', STALE, ts)
end
local handed = 0
if not held then
  local whom, above, grant_of_other = serve(KEYS, 1, inbox, ts, highest_fence(KEYS, 1, highest), claim,
    queue == 1 and claim)
  if whom == 'more' then
    return struct.pack('<Bd', MORE, ts)
  elseif whom ~= 'other' then
    return take_it(above, redis.call('EXISTS', KEYS[3]) == 1)
  end
  handed = grant_of_other
  record = redis.call('GET', KEYS[1])
  anybody = redis.call('EXISTS', KEYS[3]) == 1
end

local remaining = expires(record) - ts
if queue == 0 then
  return struct.pack('<Bdd', BUSY, ts, remaining)
end

local stored = highest_fence(KEYS, 1, 0)

-- PEXPIRE is allowed when memory is full, and a script that has written may go on writing: who waits already may poll then.
local function keep_queue()
  redis.call('PEXPIRE', KEYS[3], QUEUE_MS)
  redis.call('PEXPIRE', KEYS[4], QUEUE_MS)
end

local queued = entry and entry:sub(1, 8) == epoch and redis.call('ZSCORE', KEYS[3], client)
if queued then
  ticket = tonumber(queued)
  keep_queue()
  if redis.call('ZRANK', KEYS[3], client) > 0 then
    tell_next(KEYS, 1, inbox, ts, remaining)
  end
elseif ticket == 0 then
  local newest = redis.call('ZREVRANGE', KEYS[3], 0, 0, 'WITHSCORES')
  ticket = math.max(ts, newest[2] and newest[2] + 1 or 0)
end
redis.call('ZADD', KEYS[3], string.format('%.0f', ticket), client)
redis.call('HSET', KEYS[4], client, struct.pack(ENTRY, epoch, grant) .. info)
if record:byte(WAITS_OFFSET + 1) == 0 then -- not at every poll: the holder is told of each change of its record
  redis.call('SETRANGE', KEYS[1], WAITS_OFFSET, '\1')
end
keep_queue() -- also when telling the next in line has emptied the queue before
if queued or not anybody then
  local holder, holder_epoch = struct.unpack('<c22c8', record, 4)
  tell(inbox, holder, struct.pack('<Bc8d', WAITS, holder_epoch, ts) .. KEYS[1])
end
local position = redis.call('ZRANK', KEYS[3], client)
return struct.pack('<Bdddddd', QUEUED, ts, position, remaining, ticket, stored, handed)
