-- The queue is served.

-- Makes a waiter the holder, or a member, for its grant lease. Returns whether anybody listens; what it was, if nobody does, is
-- undone or overwritten by the next.
local function give(keys, at, inbox, ts, hand, entry)
  local claim, grant, delay, permits, limit, _, size, _, secret = struct.unpack('@ENTRY@', entry)
  local group, info = entry:sub(@ENTRY_SIZE@ + 1, @ENTRY_SIZE@ + size), entry:sub(@ENTRY_SIZE@ + size + 1)
  local who, waits = who_of(entry), hand.queue.head < hand.queue.tail
  local kind, fence, last = limit > 0 and @SEMAPHORE@ or @LOCK@, nil, nil
  local joint = size > 0 or limit > 0
  if joint then
    hand.joint = hand.joint or hand.members.begin(limit > 0 and 0 or new_fence(keys, at, ts, hand.highest, 0), group, limit)
    fence = hand.members.join(hand.joint, { claim = claim, expires = ts + grant, delay = delay, permits = permits, holds = 1,
      local_waiters = 0, info = info }, hand.highest)
    hand.members.say_who_waits(hand.joint, waits)
    last = fence
    if not hand.from then
      leave_handoff_to(keys[at], '@ANYBODY@')
    end
  else
    local from = hand.from or '@ANYBODY@'
    fence, last = take(keys, at, claim, ts, grant, hand.highest, waits, 0, delay, info, from, hand.handed)
  end
  hand.highest = math.max(hand.highest or 0, last)
  local message = struct.pack('<BBdddddB', @GRANT@, kind, epoch_of(claim), ts, fence, last, grant, waits and 1 or 0)
  if tell_surely(inbox, claim, secret, message, keys[at]) > 0 then
    -- Of permits without the lock-delay: a client keeps each release of one in mind until then, however many it makes.
    hand.lease, hand.to = math.max(hand.lease, limit > 0 and grant or grant + delay), claim:sub(1, @CLIENT_SIZE@)
    if not joint then
      tell_next(hand.queue, keys[at], inbox, ts, grant + delay, hand.lookers)
    end
    return true
  end
  if joint then
    hand.members.drop(hand.joint, hand.members.find(who).seat)
    hand.joint = hand.members.sweep(hand.joint)
  end
  return false
end

-- Whether a waiter has not asked for longer than any that lives: it is stopped, or dead where a monitor hides that.
local function is_silent(entry, ts)
  return ts - struct.unpack('<d', entry, @ASKED_OFFSET@ + 1) > @SILENT@
end

-- Whether the first in line is to be served: 'yes'; it is to wait, which is told ('no'); or it loses its place ('gone').
local function verdict_on(keys, at, inbox, ts, hand, entry, mine)
  local permits, limit, _, size = struct.unpack('<dddH', entry, @LIMIT_OFFSET@ - 7)
  if size > 0 or limit > 0 then -- whatever is needed is read before anything is written
    hand.members = hand.members or members(keys, at, ts)
    hand.highest = hand.highest or highest_fence(keys, at, hand.seen)
  end
  if not hand.joint then
    return 'yes'
  elseif hand.members.never_fits(hand.joint, permits, limit) then
    tell_look(keys[at], inbox, ts, entry, 0)
    return 'gone'
  end
  local group = entry:sub(@ENTRY_SIZE@ + 1, @ENTRY_SIZE@ + size)
  if hand.members.fits(hand.joint, who_of(entry), group, permits, limit) then
    return 'yes'
  elseif is_silent(entry, ts) and not mine then
    return 'gone'
  end
  tell_next(hand.queue, keys[at], inbox, ts, hand.members.look_in(hand.joint), hand.lookers)
  return 'no'
end

-- Serves the waiters in turn, as long as each fits beside who holds: nobody (the lock is free, or its record has lapsed), or
-- hand.joint. A waiter that will never fit loses its place, and is told to look: the reply tells it why. So does, without a word,
-- one that is stopped and would keep others from what it cannot have itself: its ticket gives it its place back.
-- `own` is who asks ({ who, epoch }): not told but returned ('own'), where its entry is of that epoch; its older
-- entries are dropped. hand: joint, members, queue (nil: not read), highest (fence; nil: not read, as a range is handed on), seen
-- (by the caller; for that), handed (what a holder leaves: next and last of its range; or range: how many to reserve; nil:
-- nothing), from (the claim that looks after the grant; nil: the next that is queued), lookers (how many waiters are to look
-- themselves); filled in: queue, lease (the longest of the grants made, of a lock with its lock-delay; 0: none), to (whom).
-- Returns 'none' (nobody waits any more), 'own', 'other' (handed off to one alone), 'stands' (the first in line does not fit) or
-- 'more' (call again).
local function serve(keys, at, inbox, ts, hand, own)
  hand.lease = 0
  hand.queue = hand.queue or queue_at(keys[at + 2])
  local queue = hand.queue
  local entry = next_of(queue, queue.head)
  while entry do
    local mine = own and who_of(entry) == own.who
    local verdict = verdict_on(keys, at, inbox, ts, hand, entry, mine)
    if verdict == 'no' then
      return 'stands'
    end
    queue.budget = queue.budget - 1
    remove(queue, queue.head)
    if mine and verdict == 'yes' and epoch_of(entry) >= own.epoch then
      save(queue)
      return 'own'
    end
    if verdict == 'yes' and not mine and give(keys, at, inbox, ts, hand, entry) and not hand.joint then
      return 'other'
    end
    entry = next_of(queue, queue.head)
  end
  save(queue)
  if not hand.joint then
    redis.call('DEL', keys[at])
  end
  if queue.head == queue.tail then
    if hand.joint then
      hand.members.say_who_waits(hand.joint, false)
    end
    return 'none'
  elseif hand.joint then
    queue.budget = @SKIPS@
    tell_next(queue, keys[at], inbox, ts, 0) -- in case the caller does not call again
  end
  return 'more'
end
