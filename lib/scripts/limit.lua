-- Limit: sets how many permits a semaphore has, or only looks. A higher limit serves the queue; a lower one takes nothing back.
-- Safe to repeat.
--
-- KEYS  record, fence, queue, waiters, ends
-- ARGV  1 packed: limit (0 = only look), highest fence seen   2 prefix of inboxes
-- Replies, packed, code and server time first:
--   1 ok   6 more (as ok, but call again at once: waiters are still to be served): limit, permits in use
--   8 missing (looked for a limit that is not set)
-- Messages: grant and next to waiters.
local OK, MORE, MISSING = 1, 6, 8

check_call(#KEYS >= 5 and #ARGV == 2 and #ARGV[1] == 16)
local limit, highest = struct.unpack('<dd', ARGV[1])
local inbox = ARGV[2]
check_call(sound(limit) and sound(highest))
local record = redis.call('GET', KEYS[1])
local ts = now()

local problem = unreadable(record, KEYS[1], SEMAPHORE)
if problem then
  return problem
end
if not record and limit == 0 then
  return struct.pack('<Bd', MISSING, ts)
end

check_types(KEYS, 1)
local hand = { highest = highest_fence(KEYS, 1, highest), members = members(KEYS, 1, ts) }
if record then
  hand.joint = hand.members.read(record)
  if limit > 0 then
    hand.members.set_limit(hand.joint, limit)
  end
  hand.joint = hand.members.sweep(hand.joint)
else
  hand.joint = hand.members.begin(0, '', limit)
end
local code = serve(KEYS, 1, inbox, ts, hand) == 'more' and MORE or OK
return struct.pack('<Bddd', code, ts, hand.joint.limit, hand.joint.used)
