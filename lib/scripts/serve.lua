-- The queue is served.

-- Makes a waiter the holder, or a member, for its grant lease. Returns whether anybody listens; what it was, if nobody does, is
-- undone or overwritten by the next.
local function give(keys, at, inbox, ts, hand, head, entry)
  local epoch, grant, delay, permits, limit, size, _, secret = struct.unpack(ENTRY, entry)
  local group, info = entry:sub(ENTRY_SIZE + 1, ENTRY_SIZE + size), entry:sub(ENTRY_SIZE + size + 1)
  local waits = redis.call('EXISTS', keys[at + 2]) == 1
  local kind, fence, last = limit > 0 and SEMAPHORE or LOCK, nil, nil
  local joint = group ~= '' or limit > 0
  if joint then
    hand.members = hand.members or members(keys, at, ts)
    hand.joint = hand.joint or hand.members.begin(limit > 0 and 0 or new_fence(keys, at, ts, hand.highest, 0), group, limit)
    fence = hand.members.join(hand.joint, head, { epoch = epoch_of(epoch), expires = ts + grant, delay = delay,
      permits = permits, holds = 1, local_waiters = 0 }, hand.highest, info)
    last = fence
    if not hand.from then
      leave_to_anybody(keys[at])
    end
  else
    fence, last = take(keys, at, head .. epoch, ts, grant, hand.highest, waits, 0, delay, info, hand.from or ANYBODY,
      hand.handed)
  end
  hand.highest = math.max(hand.highest or 0, last)
  local message = struct.pack('<BBc8ddddB', GRANT, kind, epoch, ts, fence, last, grant, waits and 1 or 0)
  if tell_surely(inbox, head, secret, message, keys[at]) > 0 then
    -- Of permits without the lock-delay: a client keeps each release of one in mind until then, however many it makes.
    hand.lease, hand.to = math.max(hand.lease, limit > 0 and grant or grant + delay), head
    if waits and not joint then
      tell_next(keys, at, inbox, ts, grant + delay, hand.lookers)
    end
    return true
  end
  if joint then
    hand.members.drop(hand.joint, head, permits)
    hand.joint = hand.members.sweep(hand.joint)
  end
  return false
end

-- Whether a waiter wants a lock alone.
local function is_for_one(entry)
  local limit, size = struct.unpack('<dH', entry, LIMIT_OFFSET + 1)
  return limit == 0 and size == 0
end

-- Whether a waiter has not asked for longer than any that lives: it is stopped, or dead where a monitor hides that.
local function is_silent(entry, ts)
  return ts - struct.unpack('<d', entry, ASKED_OFFSET + 1) > @SILENT@
end

-- Serves the waiters in turn, as long as each fits beside who holds: nobody (the lock is free, or its record has lapsed), or
-- hand.joint. A waiter that will never fit loses its place, and is told to look: the reply tells it why. So does, without a word,
-- one that is stopped and would keep others from what it cannot have itself: its ticket gives it its place back.
-- `own` is who asks ({ who, epoch }): not told but returned ('own'), where its entry is of that epoch; its older
-- entries are dropped. hand: joint, highest (fence; nil: not read, as a range is handed on), seen (by the caller; for that),
-- handed (what a holder leaves: next and last of its range; or range: how many to reserve; nil: nothing), from (the claim that
-- looks after the grant; nil: the next that is queued), lookers (how many waiters are to look themselves); filled in: lease
-- (the longest of the grants made, of a lock with its lock-delay; 0: none), to (whom). Returns 'none' (nobody waits any more),
-- 'own', 'other' (handed off to one alone), 'stands' (the first in line does not fit) or 'more' (call again).
local function serve(keys, at, inbox, ts, hand, own)
  hand.lease = 0
  for _ = 1, @SKIPS@ do
    local head = redis.call('ZRANGE', keys[at + 2], 0, 0)[1]
    if not head then
      if not hand.joint then
        redis.call('DEL', keys[at])
      end
      return 'none'
    end
    local entry = entry_of(keys[at + 3], head)
    if entry and not hand.highest and not is_for_one(entry) then -- before anything is written
      redis.call('ZSCORE', keys[at + 4], '')
      hand.highest = highest_fence(keys, at, hand.seen)
    end
    if entry and hand.joint then
      local _, _, _, permits, limit, size = struct.unpack(ENTRY, entry)
      hand.members = hand.members or members(keys, at, ts)
      if hand.members.never_fits(hand.joint, permits, limit) then
        tell_look(keys, at, inbox, ts, head, entry, 0)
        entry = nil
      elseif not hand.members.fits(hand.joint, head, entry:sub(ENTRY_SIZE + 1, ENTRY_SIZE + size), permits, limit) then
        if (own and head == own.who) or not is_silent(entry, ts) then
          tell_next(keys, at, inbox, ts, hand.members.look_in(hand.joint), hand.lookers)
          return 'stands'
        end
        entry = nil
      end
    end
    redis.call('ZREM', keys[at + 2], head)
    redis.call('HDEL', keys[at + 3], head)
    local mine = own and head == own.who
    if mine and entry and epoch_of(entry) >= own.epoch then
      if not hand.joint then
        redis.call('DEL', keys[at])
      end
      return 'own'
    end
    if entry and not mine and give(keys, at, inbox, ts, hand, head, entry) and not hand.joint then
      return 'other'
    end
  end
  if hand.joint then
    tell_next(keys, at, inbox, ts, 0) -- in case the caller does not call again
  else
    redis.call('DEL', keys[at])
  end
  return 'more'
end
