-- Leave: release, cancel and give-back in one. Ours: serve the waiters, or delete the record. Queued, with this epoch or an
-- older one: out of the queue. Safe to repeat.
--
-- KEYS  record, fence, queue, waiters, ends
-- ARGV  1 packed: claim (30 bytes), highest fence seen, kind, lost (1: whoever had it was told that it is lost: its lock-delay
--         begins, if it has one)
--       2 prefix of inboxes
-- Replies, packed, code and server time first:
--   1 ok (it was ours)   2 not ours   3 more (as ok or not ours, but call again at once: waiters are still to be served)
--   then the grant lease of a handoff: leave again when it has ended, unless settled comes first (0 = none)
-- Messages: grant and next to waiters, settled to who had handed it on.
local OK, NOT_OURS, MORE = 1, 2, 3

check_call(#KEYS >= 5 and #ARGV == 2 and #ARGV[1] == 40)
local claim, highest, kind, lost = struct.unpack('<c30dBB', ARGV[1])
local inbox = ARGV[2]
check_call(claim:byte() ~= 0 and sound(highest) and is_kind(kind))
local record = redis.call('GET', KEYS[1])
local ts = now()

local problem = unreadable(record, KEYS[1])
if problem then
  return problem
end

local joint = record and is_joint(record)
local ours = record and is_claim(record, claim)
local delay = ours and lost == 1 and kept_until(record) - expires(record) or 0
if ours and delay == 0 and record:byte(WAITS_OFFSET + 1) == 0 then
  redis.call('DEL', KEYS[1])
  tell_settled(KEYS[1], record, inbox, ts)
  return struct.pack('<Bdd', OK, ts, 0)
end

-- Rarely

local epoch = epoch_of(claim:sub(23))
local who = kind == SEMAPHORE and claim or claim:sub(1, 22)
local hand = { from = claim }
local free = not joint and ((ours and delay == 0) or not record or kept_until(record) < ts)
check_types(KEYS, 1)
hand.highest = (free or joint) and highest_fence(KEYS, 1, highest)
local entry = entry_of(KEYS[4], who)
local was_head = false
if entry and epoch_of(entry) <= epoch then
  was_head = redis.call('ZRANK', KEYS[3], who) == 0
  redis.call('ZREM', KEYS[3], who)
  redis.call('HDEL', KEYS[4], who)
end

-- Who is lost is no holder any more, but nobody else becomes one before its lock-delay has passed.
if ours and delay > 0 and expires(record) >= ts then
  prolong(KEYS[1], ts, ts + delay, struct.pack('<d', ts - 1), EXPIRES_OFFSET)
  record = redis.call('GET', KEYS[1])
  was_head = true
end

if joint then
  hand.members = members(KEYS, 1, ts)
  hand.joint = hand.members.read(record)
  local member = hand.members.find(who)
  if member and member.epoch == epoch then
    ours = true
    if lost == 0 or member.delay == 0 then
      hand.members.drop(hand.joint, who, member.permits)
    elseif member.expires >= ts then
      local info = hand.members.info(who)
      member.expires, member.holds, member.local_waiters = ts - 1, 0, 0
      hand.members.write(hand.joint, who, member, info)
    end
  end
  hand.joint = hand.members.sweep(hand.joint)
end

if free or joint then
  local whom = serve(KEYS, 1, inbox, ts, hand)
  if ours and not joint then
    tell_settled(KEYS[1], record, inbox, ts, hand.to)
  end
  if whom == 'more' then
    return struct.pack('<Bdd', MORE, ts, 0)
  end
elseif was_head then
  tell_next(KEYS, 1, inbox, ts, kept_until(record) - ts)
end
return struct.pack('<Bdd', ours and OK or NOT_OURS, ts, hand.lease or 0)
