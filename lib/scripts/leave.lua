-- Leave: release, cancel and give-back in one. Ours: hand the lock to the first waiter, or delete the record. Queued, with this
-- epoch or an older one: out of the queue. Safe to repeat.
--
-- KEYS  record, fence, queue, waiters
-- ARGV  1 packed: claim (30 bytes), highest fence seen    2 prefix of inboxes
-- Replies, packed, code and server time first:
--   1 ok (it was ours)   2 not ours   3 more (as ok or not ours, but call again at once: waiters are still to be served)
--   then the grant lease of a handoff: leave again when it has ended, unless settled comes first (0 = none)
-- Messages: grant and next to waiters, settled to who had handed it on.
local OK, NOT_OURS, MORE = 1, 2, 3

check_call(#KEYS >= 4 and #ARGV == 2 and #ARGV[1] == 38)
local claim, highest = struct.unpack('<c30d', ARGV[1])
local inbox = ARGV[2]
check_call(sound(highest))
local record = redis.call('GET', KEYS[1])
local ts = now()

local problem = unreadable(record, KEYS[1])
if problem then
  return problem
end

local ours = record and is_claim(record, claim)
if ours and record:byte(WAITS_OFFSET + 1) == 0 then
  redis.call('DEL', KEYS[1])
  tell_settled(KEYS[1], record, inbox, ts)
  return struct.pack('<Bdd', OK, ts, 0)
end

local free = ours or not record or expires(record) < ts
local above = free and highest_fence(KEYS, 1, highest)
local client = claim:sub(1, 22)
local entry = entry_of(KEYS[4], client)
local was_head = false
if entry and epoch_of(entry) <= epoch_of(claim:sub(23)) then
  was_head = redis.call('ZRANK', KEYS[3], client) == 0
  redis.call('ZREM', KEYS[3], client)
  redis.call('HDEL', KEYS[4], client)
end

local handed = 0
if free then
  local whom, _, grant, next_client = serve(KEYS, 1, inbox, ts, above, nil, claim)
  if ours then
    tell_settled(KEYS[1], record, inbox, ts, next_client)
  end
  if whom == 'more' then
    return struct.pack('<Bdd', MORE, ts, 0)
  end
  handed = grant or 0
elseif was_head then
  tell_next(KEYS, 1, inbox, ts, expires(record) - ts)
end
return struct.pack('<Bdd', ours and OK or NOT_OURS, ts, handed)
