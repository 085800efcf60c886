-- Limit: sets how many permits a semaphore has, or only looks. A higher limit serves the queue; a lower one takes nothing back.
-- Safe to repeat.
--
-- KEYS  record, fence, queue, members
-- ARGV  1 packed: limit (0 = only look), highest fence seen, not-after us (do nothing beyond that time)   2 prefix of inboxes
-- Replies, packed, code and server time first:
--   1 ok   6 more (as ok, but call again at once: waiters are still to be served): limit, permits in use
--   4 late
--   8 missing (looked for a limit that is not set)
-- Messages: grant and next to waiters.
-- with: calls foreign record fences messages holder queue members serve

check_call(#KEYS >= 4 and #ARGV == 2 and #ARGV[1] == 24)
local limit, highest, not_after = struct.unpack('<ddd', ARGV[1])
local inbox = ARGV[2]
check_call(sound(limit) and sound(highest) and sound(not_after))
local ts = now()
if ts > not_after then
  return struct.pack('<Bd', @LATE@, ts)
end
local record = record_at(KEYS[1], ts)
local problem = unreadable(record, KEYS[1], @SEMAPHORE@)
if problem then
  return problem
end
if not record and limit == 0 then
  return struct.pack('<Bd', @MISSING@, ts)
end

local hand = { highest = highest_fence(KEYS, 1, highest), members = members(KEYS, 1, ts), queue = queue_at(KEYS[3]) }
if record then
  hand.joint = hand.members.read(record)
  if limit > 0 then
    hand.members.set_limit(hand.joint, limit)
  end
  hand.joint = hand.members.sweep(hand.joint)
else
  hand.joint = hand.members.begin(0, '', limit)
end
local code = serve(KEYS, 1, inbox, ts, hand) == 'more' and @MORE@ or 1
return struct.pack('<Bddd', code, ts, hand.joint.limit, hand.joint.used)
