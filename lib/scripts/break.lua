-- Break: take a name from whoever holds it and serve the queue, or end a latch. Safe to repeat: with a fence it parts nobody else
-- from it.
--
-- KEYS  record, fence, queue, members
-- ARGV  1 packed: fence to break (any of the grant's range; of a semaphore, a permit's; of a latch, its
--         generation; 0 = whoever holds it), highest fence seen, not-after us (do nothing beyond that time)
--       2 prefix of inboxes   3 info of who breaks
-- Reply: { server time (packed double), record of who was parted or '', to be called again at once: 0 not, 1 to serve the queue
--          (with a fence that there is not), 2 to part more; then end (text) and seat of each member that was parted };
--        or, packed: 4 (late), server time
-- Messages: broken to who held it, grant and next to waiters; passed to those of a latch.
-- with: calls foreign record fences messages holder queue members serve latch latch_waiters

check_call(#KEYS >= 4 and #ARGV == 3 and #ARGV[1] == 24)
local fence, highest, not_after = struct.unpack('<ddd', ARGV[1])
local inbox, info = ARGV[2], ARGV[3]
check_call(sound(fence) and sound(highest) and sound(not_after))
local record = redis.call('GET', KEYS[1])
local ts = now()
if ts > not_after then
  return struct.pack('<Bd', @LATE@, ts)
end

-- The record stays for as long as requests are remembered, as one of a latch whose time has ended.
local function break_latch()
  local latch, problem = latch_of(record, KEYS[1], ts)
  if problem then
    return problem
  elseif latch and fence ~= 0 and fence ~= latch.generation then
    return { struct.pack('<d', ts), '', 0 }
  end
  local queue = queue_at(KEYS[3], nil, true)
  if latch then
    redis.call('PEXPIRE', KEYS[1], math.ceil(math.max(latch.last + latch.keep - ts, 0) / 1000) + @SWEEP_MS@)
    redis.call('SETRANGE', KEYS[1], @LATCH_END_OFFSET@, struct.pack('<d', 1))
  end
  local more = tell_waiters(queue, KEYS[1], inbox, ts, latch and latch.generation or 0, @GONE@)
  return { struct.pack('<d', ts), latch and record:sub(1, @LATCH_SIZE@) or '', more and 1 or 0 }
end

if record and record:byte(2) == @LATCH@ then
  return break_latch()
end

local problem = unreadable(record, KEYS[1])
if problem then
  return problem
end

local function tell_broken(claim)
  tell(inbox, claim, struct.pack('<BBddH', @BROKEN@, record:byte(2), epoch_of(claim), ts, #KEYS[1]) .. KEYS[1] .. info)
end

local hand = { highest = highest_fence(KEYS, 1, highest), queue = queue_at(KEYS[3]) }
local parted = {}
local reply = { struct.pack('<d', ts), '', 0 }

-- Parts members from what they hold together, at most as many as one call may pass over. Returns whether there are more.
local function part_members()
  hand.members = members(KEYS, 1, ts)
  hand.joint = hand.members.read(record)
  local whole = fence == 0 or hand.joint.limit == 0
  if whole and fence ~= 0 and fence ~= hand.joint.fence then
    return false
  end
  local all = redis.call('ZRANGE', KEYS[4], '(0', '+inf', 'BYSCORE', 'LIMIT', 0, whole and @SKIPS@ or -1, 'WITHSCORES')
  for index = 1, #all, 2 do
    local seat, ends = all[index], tonumber(all[index + 1])
    local claim, its_fence, since, delay = nil, nil, 0, 0
    if #seat >= @MEMBER_SIZE@ then
      claim, its_fence, since, delay = struct.unpack('@MEMBER@', seat)
    end
    if whole or its_fence == fence then
      if since > 0 and ends - delay >= ts then -- else it was lost already
        parted[#parted + 1] = claim
        reply[#reply + 1], reply[#reply + 2] = all[index + 1], seat
      end
      hand.members.drop(hand.joint, seat)
    end
  end
  return whole and #all == 2 * @SKIPS@
end

local more = false
if record and is_joint(record) then
  more = part_members()
  hand.joint = hand.members.sweep(hand.joint)
  reply[2] = #parted > 0 and record or ''
elseif record and kept_until(record) >= ts then
  local first, _, last = struct.unpack('<ddd', record, @FENCE_OFFSET@ + 1)
  if fence ~= 0 and (fence < first or fence > last) then
    return reply
  end
  if expires(record) >= ts then -- else it was lost already, and only its lock-delay ends
    parted[1], reply[2] = record:sub(4, 33), record
  end
end
local unserved = not more and serve(KEYS, 1, inbox, ts, hand) == 'more'
for _, claim in ipairs(parted) do
  tell_broken(claim)
end
reply[3] = more and 2 or unserved and 1 or 0
return reply
