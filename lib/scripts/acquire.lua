-- Acquire: take what is free if nobody waits, else wait for it in turn. Safe to repeat with the same claim: it is
-- told again, and its lease counts from the latest call.
--
-- KEYS  record, fence, queue, members
-- ARGV  1 packed, as REQUEST: version, kind, 0, claim (as the record begins), lease us, not-after us (do nothing beyond that
--         time), grant lease us, ticket (a place in the queue that this claim had, 0 = none), highest fence seen, wait in turn
--         (0, 1), local waiters, lock-delay us, permits (0 = all that are free; of a lock 1), limit (of a lock 0; of a semaphore
--         0 = as it is set), sizes of the group and of the prefix, secret (20 bytes, for the MAC of a grant); then the group (who
--         share a lock; empty = alone), the prefix of inboxes, the info text
-- Replies, packed, code and server time first:
--   1 granted   fence, end of its range, somebody waits (0, 1), permits
--   2 queued    places before it (0 = next), remaining lease us, ticket, highest fence of the record, grant lease of a handoff
--               (the longest, of a lock with its lock-delay) that this call has made, or the rest of it where nobody looked
--               after the handoff; we do from now on (0 = none)
--   3 busy      remaining lease us
--   4 late      5 stale (this client's newer claim stands, or this one was lost and left)   6 more (call again at once)
--   8 missing (the semaphore's limit is not set)             9 limit (it is another, or less than what is asked for): limit
-- Messages: grant and next to waiters, waits to the holder, settled to who handed it on.
-- The usual cases: a lock that is wanted alone, and is free, with nobody waiting; or another client has it alone, and others wait
-- for it; or what several may hold has room, and nobody waits. What is not so, or not sound, is left to the rest; so is a call
-- that checks rights, whose mark is longer.
local request, mark = ARGV[1], ARGV[2]
if #KEYS >= 4 and #ARGV == 2 and #mark == @MARK_SIZE@ and #request >= @REQUEST_SIZE@ then
  local version, kind, zero, claim, lease, not_after, grant, ticket, seen, in_turn, local_waiters, delay, permits, limit, group,
    prefix, secret = struct.unpack('@REQUEST@', request)
  local epoch = struct.unpack('<d', claim, @CLIENT_SIZE@ + 1)
  local time = redis.call('TIME')
  local ts = time[1] * 1000000 + time[2]
  local fine = version == @VERSION@ and zero == 0 and claim:byte() > 0 and #request >= @REQUEST_SIZE@ + group + prefix
    and ts <= not_after and ts < @LAST_FOLLOWED@
    and epoch >= 0 and lease >= 0 and grant >= 0 and ticket >= 0 and delay >= 0 and seen >= 0
    and epoch + lease + grant + ticket + delay + seen < @LARGEST@
    and epoch % 1 + lease % 1 + grant % 1 + ticket % 1 + delay % 1 + seen % 1 == 0
  local usual = fine and kind == @LOCK@ and permits == 1 and limit == 0
  if usual and group == 0 and redis.pcall('EXISTS', KEYS[1], KEYS[3], KEYS[4]) == 0 then
    local stored = redis.pcall('GET', KEYS[2]) or '\0\0\0\0\0\0\0\0'
    local above = #stored == 8 and struct.unpack('<d', stored) or -1 -- the size of an error is 0
    local fence = math.max(above + 1, seen + 1, ts)
    if above >= 0 and above % 1 == 0 and fence < @LAST_FOLLOWED@ then
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
  elseif usual and group == 0 and in_turn == 1 and ticket == 0 then
    local record, found = redis.pcall('GET', KEYS[1]) or '', redis.pcall('HMGET', KEYS[3], '', claim:sub(1, @CLIENT_SIZE@))
    if #record >= @HEADER_SIZE@ and found[1] and not found[2] and #found[1] == @LINE_SIZE@ then
      local begin, holder, fence, _, last, until_, _, _, from, held_delay = struct.unpack('<c3c30ddddHHc30d', record)
      local head, tail, stands = struct.unpack('@LINE@', found[1])
      local remaining = until_ + held_delay - ts
      if begin == '\@VERSION@\@LOCK@\1' and holder:byte() > 0 and holder:sub(1, @CLIENT_SIZE@) ~= claim:sub(1, @CLIENT_SIZE@)
        and from ~= '@ANYBODY@'
        and remaining >= 0 and head >= 0 and head < tail and stands >= ts + @QUEUE_SOON_US@
        and fence >= 0 and fence <= last and last <= @MOST_FENCE@ and remaining + tail + stands < @LARGEST@
        and fence % 1 + last % 1 + remaining % 1 + head % 1 + tail % 1 + stands % 1 == 0 then
        local place, info = struct.pack('<d', tail), request:sub(@REQUEST_SIZE@ + 1 + prefix)
        local entry = struct.pack('@ENTRY@c0', claim, grant, delay, 1, 0, ts, 0, ts, secret, info)
        local line = struct.pack('@LINE@', head, tail + 1, stands)
        if redis.pcall('HSET', KEYS[3], '', line, place, entry, claim:sub(1, @CLIENT_SIZE@), place) == 2 then
          return struct.pack('<Bddddddc0', @QUEUED@, ts, tail - head, remaining, tail, last, 0, mark)
        end
      end
    end
  end

-- with: acquire_joint

end

-- Else

-- with: calls foreign record messages queue join

check_call(#KEYS >= 4 and #ARGV == 1 and #request >= @REQUEST_SIZE@)
local version, kind, zero, claim, lease, not_after, grant, ticket, highest, in_turn, local_waiters, delay, permits, limit,
  group_size, prefix_size, secret = struct.unpack('@REQUEST@', request)
check_call(#request >= @REQUEST_SIZE@ + group_size + prefix_size)
local group = request:sub(@REQUEST_SIZE@ + 1, @REQUEST_SIZE@ + group_size)
local inbox = request:sub(@REQUEST_SIZE@ + 1 + group_size, @REQUEST_SIZE@ + group_size + prefix_size)
local info = request:sub(@REQUEST_SIZE@ + 1 + group_size + prefix_size)
local client, epoch = claim:sub(1, @CLIENT_SIZE@), epoch_of(claim)
check_call(version == @VERSION@ and zero == 0 and claim:byte() ~= 0 and are_sound(epoch, lease, grant, ticket, highest)
  and sound(delay) and (kind == @LOCK@ and limit == 0 and permits == 1
    or kind == @SEMAPHORE@ and sound(permits) and sound(limit) and group == '' and (permits > 0 or in_turn == 0)))
local ts = now()
if ts > not_after then
  return struct.pack('<Bd', @LATE@, ts)
end
local record = record_at(KEYS[1], ts)
local problem = unreadable(record, KEYS[1], kind)
if problem then
  return problem
end

local held = record and not is_joint(record) and kept_until(record) >= ts
local again = false
if held and record:sub(4, 25) == client then
  local stands = epoch_of(record, @CLAIM_OFFSET@)
  again = stands == epoch
  if stands > epoch or (again and expires(record) == 0) then -- it was lost and left: this call comes late
    return struct.pack('<Bd', @STALE@, ts)
  end
  -- An older claim of this client: it asks anew, so it has freed that one, unless that has a lock-delay: it may be lost, though
  -- its leave has not come yet.
  held = not again and kept_until(record) > expires(record)
end
local who = kind == @SEMAPHORE@ and claim or client
local queue = queue_at(KEYS[3], who)
if queue.entry and epoch_of(queue.entry) > epoch and not again then
  return struct.pack('<Bd', @STALE@, ts)
end

-- Waits in turn for what others have, which may be had in `remaining`; hand: what several hold, the lease of a handoff.
local function wait(remaining, hand)
  local joint, handed = hand.joint, hand.lease
  if in_turn == 0 then
    return struct.pack('<Bdd', @BUSY@, ts, remaining)
  end
  local waited, entry = queue.head < queue.tail, queue.entry
  local stays, since = entry and epoch_of(entry) == epoch, ts
  if stays then
    since, ticket = struct.unpack('<d', entry, @SINCE_OFFSET@ + 1), queue.place
    keep_queue(queue, ts)
    if not joint and queue.place > queue.head then -- where several hold it, serving has told the first
      tell_next(queue, KEYS[1], inbox, ts, remaining)
    end
  elseif entry then
    remove(queue, queue.place)
  end
  local place = join(queue, who, struct.pack('@ENTRY@', claim, grant, delay, permits,
    joint and kind == @SEMAPHORE@ and joint.limit or limit, since, #group, ts, secret) .. group .. info, ticket, ts)
  if record:byte(@WAITS_OFFSET@ + 1) == 0 then -- not at every poll: the holder is told of each change
    redis.call('SETRANGE', KEYS[1], @WAITS_OFFSET@, '\1')
  end
  local holder, fence, _, last, _, _, _, from = struct.unpack('<c30ddddHHc30', record, @CLAIM_OFFSET@ + 1)
  if from == '@ANYBODY@' then -- nobody settles what several were given
    redis.call('SETRANGE', KEYS[1], @FROM_OFFSET@, joint and '@NOBODY@' or claim)
    handed = math.max(0, math.min(remaining, @SILENT@)) -- any waiter polls by then
  end
  if (stays or not waited) and not joint then
    tell(inbox, holder, struct.pack('<BBdd', @WAITS@, @LOCK@, epoch_of(holder), ts) .. KEYS[1])
  end
  local seen = math.max(fence, last, hand.highest or 0)
  return struct.pack('<Bdddddd', @QUEUED@, ts, place - queue.head, remaining, place, seen, handed)
end

if held then
  return wait(kept_until(record) - ts, { lease = 0 })
end

-- with: fences holder members serve

local hand = { lease = 0, from = in_turn == 1 and claim or nil, queue = queue }

local function granted(fence, last)
  return struct.pack('<BdddBd', @GRANTED@, ts, fence, last, queue.head < queue.tail and 1 or 0, permits)
end

if again then
  local until_ = math.max(expires(record), ts + lease)
  prolong(KEYS[1], ts, until_ + delay, struct.pack('<d', until_), @EXPIRES_OFFSET@)
  settle(KEYS[1], record, inbox, ts)
  local fence, _, last = struct.unpack('<ddd', record, @FENCE_OFFSET@ + 1)
  return granted(fence, last)
end

-- Alone in it: nobody else has it beside us.
local alone = kind == @LOCK@ and group == ''
if not alone or (record and is_joint(record)) then
  hand.members = members(KEYS, 1, ts)
end
hand.highest = highest_fence(KEYS, 1, highest)

local function fits()
  return not hand.joint or hand.members.fits(hand.joint, who, group, math.max(1, permits), kind == @SEMAPHORE@ and 1 or 0)
end

-- What several hold together. Whoever finds room at once leaves it to others to drop those whose leases have ended.
if hand.members then
  hand.joint = hand.members.read(record)
  local room = hand.joint and not hand.joint.waits and fits() and not hand.members.find(who)
  if hand.joint and not (room and hand.joint.stands >= ts + lease + delay + @STANDS_US@ / 2) then
    hand.joint = hand.members.sweep(hand.joint)
  end
  if kind == @SEMAPHORE@ and not hand.joint and limit == 0 then
    return struct.pack('<Bd', @MISSING@, ts)
  end
  local member = hand.joint and hand.members.find(who)
  if member and (member.epoch > epoch or (member.epoch == epoch and member.expires == 0)) then
    return struct.pack('<Bd', @STALE@, ts)
  elseif member and member.epoch == epoch then
    permits = member.permits
    hand.members.renew(hand.joint, member, lease, ts, 1, 0)
    return granted(member.fence, member.fence)
  elseif member and member.expires >= ts and member.delay == 0 then
    hand.members.drop(hand.joint, member.seat)
    hand.joint = hand.members.sweep(hand.joint)
  end
  -- What it has already stays, whatever the limit is by now.
  local set = hand.joint and hand.joint.limit or limit
  if kind == @SEMAPHORE@ and ((limit > 0 and limit ~= set) or permits > set) then
    return struct.pack('<Bdd', @LIMIT@, ts, set)
  end
end

local whom = 'none'
if anybody(queue) then
  whom = serve(KEYS, 1, inbox, ts, hand, { who = who, epoch = epoch })
end
if whom == 'more' then
  return struct.pack('<Bd', @MORE@, ts)
elseif whom ~= 'own' and (whom ~= 'none' or not fits()) then
  record = redis.call('GET', KEYS[1])
  return wait(hand.joint and hand.members.look_in(hand.joint) or kept_until(record) - ts, hand)
end

-- It is ours.
local waits = queue.head < queue.tail
if alone then
  local fence, last = take(KEYS, 1, claim, ts, lease, hand.highest, waits, local_waiters, delay, info)
  tell_next(queue, KEYS[1], inbox, ts, lease + delay)
  return granted(fence, last)
end
hand.joint = hand.joint
  or hand.members.begin(kind == @SEMAPHORE@ and 0 or new_fence(KEYS, 1, ts, hand.highest, 0), group, limit)
permits = permits == 0 and hand.joint.limit - hand.joint.used or permits
local fence = hand.members.join(hand.joint, { claim = claim, expires = ts + lease, delay = delay, permits = permits,
  holds = 1, local_waiters = 0, info = info }, hand.highest)
local handed = hand.lease -- to those before us
if waits then
  hand.members.say_who_waits(hand.joint, true)
  hand.highest = fence
  serve(KEYS, 1, inbox, ts, hand)
  handed = math.max(handed, hand.lease)
end
if handed > 0 then -- we have it, and wait for nothing: whoever asks or leaves next looks after theirs
  leave_handoff_to(KEYS[1], '@ANYBODY@')
end
return granted(fence, fence)
