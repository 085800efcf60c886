-- Acquire: take what is free if nobody waits, else (queue = 1) wait for it in turn. Safe to repeat with the same claim: it is
-- told again, and its lease counts from the latest call.
--
-- KEYS  record, fence, queue, waiters, ends
-- ARGV  1 packed, as REQUEST: version, kind, 0, claim (as the record begins), lease us, not-after us (do nothing beyond that
--         time), grant lease us, ticket (a place in the queue that this claim had, 0 = none), highest fence seen, queue (0, 1),
--         local waiters, lock-delay us, permits (0 = all that are free; of a lock 1), limit (of a lock 0; of a semaphore 0 = as
--         it is set), sizes of the group and of the prefix, secret (20 bytes, for the MAC of a grant); then the group (who share
--         a lock; empty = alone), the prefix of inboxes, the info text
-- Replies, packed, code and server time first:
--   1 granted   fence, end of its range, somebody waits (0, 1), permits
--   2 queued    position (0 = next), remaining lease us, ticket, highest fence of the slot, grant lease of a handoff
--               (the longest, of a lock with its lock-delay) that this call has made, or the rest of it where nobody looked
--               after the handoff; we do from now on (0 = none)
--   3 busy      remaining lease us
--   4 late      5 stale (this client's newer claim stands, or this one was lost and left)   6 more (call again at once)
--   8 missing (the semaphore's limit is not set)             9 limit (it is another, or less than what is asked for): limit
-- Messages: grant and next to waiters, waits to the holder, settled to who handed it on.
-- The usual case: a free lock that nobody waits for, to be held alone. What is not so, or not sound, is left to the rest; so is
-- a call that checks rights, whose mark is longer.
local request, mark = ARGV[1], ARGV[2]
if #KEYS >= 5 and #ARGV == 2 and #mark == @MARK_SIZE@ and #request >= @REQUEST_SIZE@
  and redis.pcall('EXISTS', KEYS[1], KEYS[3]) == 0 then
  local version, kind, zero, first, _, epoch, lease, not_after, grant, ticket, seen, _, local_waiters, delay, permits, limit,
    group, prefix = struct.unpack('<BBBBc21ddddddBHdddHH', request)
  local time, stored = redis.call('TIME'), redis.pcall('GET', KEYS[2]) or '\0\0\0\0\0\0\0\0'
  local ts = time[1] * 1000000 + time[2]
  local above = #stored == 8 and struct.unpack('<d', stored) or -1 -- the size of an error is 0
  local fence = math.max(above + 1, seen + 1, ts)
  if version == @VERSION@ and kind == @LOCK@ and zero == 0 and first > 0 and permits == 1 and limit == 0 and group == 0
    and #request >= @REQUEST_SIZE@ + prefix and ts <= not_after
    and epoch >= 0 and lease >= 0 and grant >= 0 and ticket >= 0 and delay >= 0 and seen >= 0 and above >= 0
    and epoch + lease + grant + ticket + delay < @LARGEST@ and fence < @LAST_FOLLOWED@
    and epoch % 1 + lease % 1 + grant % 1 + ticket % 1 + delay % 1 + seen % 1 + above % 1 == 0 then
    local last = fence + @RANGE@
    -- What is written in place, and text in place of a number, cost less; and less garbage.
    local nobody, info = '@NOBODY@', request:sub(@REQUEST_SIZE@ + 1 + prefix)
    local record = struct.pack('<c33ddddHHc30dc0', request, fence, ts, last, ts + lease, 1, local_waiters, nobody, delay, info)
    local stands = string.format('%d', (lease + delay) / 1000 + @SWEEP_MS@)
    if redis.pcall('SETRANGE', KEYS[2], '0', struct.pack('<d', last)) == 8
      and redis.pcall('SET', KEYS[1], record, 'PX', stands).ok then
      return struct.pack('<BdddBdc0', @GRANTED@, ts, fence, last, 0, 1, mark)
    end
  end
end

-- Else

-- with: calls layout record fences messages holder queue members serve

local GRANTED, QUEUED, BUSY, STALE, MORE, MISSING, LIMIT =
  @GRANTED@, @QUEUED@, @BUSY@, @STALE@, @MORE@, @MISSING@, @LIMIT@

check_call(#KEYS >= 5 and #ARGV == 1 and #request >= @REQUEST_SIZE@)
local version, kind, zero, claim, lease, not_after, grant, ticket, highest, queue, local_waiters, delay, permits, limit,
  group_size, prefix_size, secret = struct.unpack('@REQUEST@', request)
check_call(#request >= @REQUEST_SIZE@ + group_size + prefix_size)
local group = request:sub(@REQUEST_SIZE@ + 1, @REQUEST_SIZE@ + group_size)
local inbox = request:sub(@REQUEST_SIZE@ + 1 + group_size, @REQUEST_SIZE@ + group_size + prefix_size)
local info = request:sub(@REQUEST_SIZE@ + 1 + group_size + prefix_size)
check_call(version == VERSION and zero == 0 and claim:byte() ~= 0 and sound((struct.unpack('<d', claim, 23))) and sound(lease)
  and sound(grant) and sound(ticket) and sound(highest) and sound(delay)
  and (kind == LOCK and limit == 0 and permits == 1
    or kind == SEMAPHORE and sound(permits) and sound(limit) and group == '' and (permits > 0 or queue == 0)))
local record = redis.call('GET', KEYS[1])
local ts = now()

if ts > not_after then
  return struct.pack('<Bd', LATE, ts)
end

-- Alone in it: nobody else has it beside us.
local alone = kind == LOCK and group == ''
local problem = unreadable(record, KEYS[1], kind)
if problem then
  return problem
end

local client, epoch = claim:sub(1, 22), claim:sub(23)
local who = kind == SEMAPHORE and claim or client
local hand = { lease = 0, from = queue == 1 and claim or nil }

local function granted(fence, last, waits)
  return struct.pack('<BdddBd', GRANTED, ts, fence, last, waits and 1 or 0, permits)
end

local function take_it(above, waits)
  if alone then
    local fence, last = take(KEYS, 1, claim, ts, lease, above, waits, local_waiters, delay, info)
    if waits then
      tell_next(KEYS, 1, inbox, ts, lease + delay)
    end
    return granted(fence, last, waits)
  end
  local joint = hand.joint
    or hand.members.begin(kind == SEMAPHORE and 0 or new_fence(KEYS, 1, ts, above, 0), group, limit)
  hand.joint = joint
  permits = permits == 0 and joint.limit - joint.used or permits
  local fence = hand.members.join(joint, who, { epoch = epoch_of(epoch), expires = ts + lease, delay = delay, permits = permits,
    holds = 1, local_waiters = local_waiters }, above, info)
  if waits then
    hand.highest = fence
    serve(KEYS, 1, inbox, ts, hand)
  end
  return granted(fence, fence, redis.call('EXISTS', KEYS[3]) == 1)
end

local held = record and not is_joint(record) and kept_until(record) >= ts
if held and is_claim(record, claim) then
  if expires(record) == 0 then -- lost and left: this call comes late
    return struct.pack('<Bd', STALE, ts)
  end
  local until_ = math.max(expires(record), ts + lease)
  prolong(KEYS[1], ts, until_ + delay, struct.pack('<d', until_), EXPIRES_OFFSET)
  settle(KEYS[1], record, inbox, ts)
  local waits, _, fence, _, last = struct.unpack('<Bc30ddd', record, WAITS_OFFSET + 1)
  return granted(fence, last, waits == 1)
end
if held and record:sub(4, 25) == client then
  if epoch_of(record:sub(26)) > epoch_of(epoch) then
    return struct.pack('<Bd', STALE, ts)
  end
  -- An older claim of this client: it asks anew, so it has freed that one, unless that has a lock-delay: it may be lost, though
  -- its leave has not come yet.
  held = kept_until(record) > expires(record)
end

-- What several hold together.
if not alone or (record and is_joint(record)) then
  check_types(KEYS, 1)
  hand.highest = highest_fence(KEYS, 1, highest)
  hand.members = members(KEYS, 1, ts)
  hand.joint = hand.members.read(record)
  hand.joint = hand.joint and hand.members.sweep(hand.joint)
  if kind == SEMAPHORE and not hand.joint and limit == 0 then
    return struct.pack('<Bd', MISSING, ts)
  end
  local member = hand.joint and hand.members.find(who)
  if member and (member.epoch > epoch_of(epoch) or (member.epoch == epoch_of(epoch) and member.expires == 0)) then
    return struct.pack('<Bd', STALE, ts)
  elseif member and member.epoch == epoch_of(epoch) then
    member.expires, member.holds, member.local_waiters = math.max(member.expires, ts + lease), 1, local_waiters
    permits = member.permits
    hand.members.write(hand.joint, who, member, info)
    return granted(member.fence, member.fence, redis.call('EXISTS', KEYS[3]) == 1)
  elseif member and member.expires >= ts and member.delay == 0 then
    hand.members.drop(hand.joint, who, member.permits)
    hand.joint = hand.members.sweep(hand.joint)
  end
  -- What it has already stays, whatever the limit is by now.
  local set = hand.joint and hand.joint.limit or limit
  if kind == SEMAPHORE and ((limit > 0 and limit ~= set) or permits > set) then
    return struct.pack('<Bdd', LIMIT, ts, set)
  end
end

local function fits()
  return not held
    and (not hand.joint or hand.members.fits(hand.joint, who, group, math.max(1, permits), kind == SEMAPHORE and 1 or 0))
end

local anybody = redis.call('EXISTS', KEYS[3]) == 1
if not anybody and fits() then
  return take_it(hand.highest or highest_fence(KEYS, 1, highest), false)
end

local entry = entry_of(KEYS[4], who)
if entry and epoch_of(entry) > epoch_of(epoch) then
  return struct.pack('<Bd', STALE, ts)
end
if anybody and not held then
  if not hand.highest then
    check_types(KEYS, 1)
    hand.highest = highest_fence(KEYS, 1, highest)
  end
  local whom = serve(KEYS, 1, inbox, ts, hand, { who = who, epoch = epoch_of(epoch) })
  if whom == 'more' then
    return struct.pack('<Bd', MORE, ts)
  elseif whom == 'own' or (whom == 'none' and fits()) then
    return take_it(hand.highest, redis.call('EXISTS', KEYS[3]) == 1)
  end
  record = redis.call('GET', KEYS[1])
  anybody = redis.call('EXISTS', KEYS[3]) == 1
end

local remaining = hand.joint and hand.members.look_in(hand.joint) or kept_until(record) - ts
if queue == 0 then
  return struct.pack('<Bdd', BUSY, ts, remaining)
end

local stored = stored_fence(KEYS, 1)

-- PEXPIRE is allowed when memory is full, and a script that has written may go on writing: who waits already may poll then.
local function keep_queue()
  if hand.joint then
    keep_lists(KEYS, 1, @QUEUE_MS@)
    return
  end
  for index = 3, 5 do
    redis.call('PEXPIRE', KEYS[index], @QUEUE_MS@)
  end
end

local queued = entry and entry:sub(1, 8) == epoch and redis.call('ZSCORE', KEYS[3], who)
if queued then
  ticket = tonumber(queued)
  keep_queue()
  if not hand.joint and redis.call('ZRANK', KEYS[3], who) > 0 then -- where several hold it, serving has told the first
    tell_next(KEYS, 1, inbox, ts, remaining)
  end
elseif ticket == 0 then
  local newest = redis.call('ZREVRANGE', KEYS[3], 0, 0, 'WITHSCORES')
  ticket = math.max(ts, newest[2] and newest[2] + 1 or 0)
end
redis.call('ZADD', KEYS[3], string.format('%.0f', ticket), who)
redis.call('HSET', KEYS[4], who,
  struct.pack(ENTRY, epoch, grant, delay, permits, hand.joint and kind == SEMAPHORE and hand.joint.limit or limit, #group,
    ts, secret) .. group .. info)
if not hand.joint and record:byte(WAITS_OFFSET + 1) == 0 then -- not at every poll: the holder is told of each change
  redis.call('SETRANGE', KEYS[1], WAITS_OFFSET, '\1')
end
-- Nobody settles what several were given.
if record:sub(FROM_OFFSET + 1, DELAY_OFFSET) == ANYBODY then
  redis.call('SETRANGE', KEYS[1], FROM_OFFSET, hand.joint and NOBODY or claim)
  hand.lease = math.max(0, math.min(remaining, @SILENT@)) -- any waiter polls by then
end
keep_queue() -- also when telling the next in line has emptied the queue before
if (queued or not anybody) and not hand.joint then
  local holder, holder_epoch = struct.unpack('<c22c8', record, 4)
  tell(inbox, holder, struct.pack('<BBc8d', WAITS, LOCK, holder_epoch, ts) .. KEYS[1])
end
local position = redis.call('ZRANK', KEYS[3], who)
return struct.pack('<Bdddddd', QUEUED, ts, position, remaining, ticket, stored, hand.lease)
