-- What the verbs of locks and semaphores share. When the library is built, each verb becomes the body of a function that
-- guarded() calls: of this file what the verb needs above its line `-- Rarely` (paragraph by paragraph), the verb up to there,
-- then the rest of both. Functions are made anew at every call: a free lock is taken and freed without making the rest. Every
-- verb reads whatever it may need before it writes: an error changes nothing.
--
-- KEYS of one resource, in this order wherever a verb names them:
--   1 record   who holds it: HEADER, then the holder's info text; where several hold it together: HEADER, JOINT, their group
--   2 fence    the highest fence given out in this slot: a packed double
--   3 queue    sorted set of who waits, by ticket
--   4 waiters  hash, who waits -> ENTRY, group, info text; '=' and a member -> MEMBER, info text
--   5 ends     sorted set of those who hold it together (members), by when they no longer do
-- A claim is a client id (22 characters) and an epoch (packed double): 30 bytes that are compared as they stand. Waiters and
-- members go by their client's id; those of a semaphore by their claim.
-- Times are microseconds of this server's clock. README.md is the whole contract.

local VERSION, LOCK, SEMAPHORE = 1, 1, 2
-- version, kind, somebody waits (0, 1; where several hold it together 0), claim, fence, since, end of the fence range, expires,
-- holds, local waiters, the claim that looks after the handoff until the holder confirms or leaves, lock-delay. Of a holder that
-- was lost, expires is 0, and the lock-delay the time until which nobody else gets it.
local HEADER, HEADER_SIZE = '<BBBc30ddddHHc30d', 107
local AFTER_CLAIM = '<ddddHHc30d' -- the rest of a header
local WAITS_OFFSET, FENCE_OFFSET, LAST_OFFSET, EXPIRES_OFFSET, FROM_OFFSET, DELAY_OFFSET = 2, 33, 49, 57, 69, 99
-- permits in use, or how many members; limit (0: none, as they are a lock's)
local JOINT, JOINT_SIZE = '<dd', 16
-- Also in place of the claim where several hold it together. No claim begins with a zero.
local NOBODY = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
-- In place of the claim that looks after a handoff: nobody does, and the next one that is queued has to.
local ANYBODY = '\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
-- epoch, grant lease, lock-delay, permits, limit, size of the group, when it asked last, the waiter's secret
local ENTRY, ENTRY_SIZE, ASKED_OFFSET, SECRET_OFFSET = '<c8ddddHdc20', 70, 42, 50
-- epoch, fence, since, expires, lock-delay (both as in the record), permits, holds, local waiters
local MEMBER, MEMBER_SIZE = '<c8dddddHH', 52
local CLIENT_SIZE, CLAIM_SIZE, LONGEST_GROUP = 22, 30, 65535
-- 2^53, to which a double counts, less room for what is added to it.
local LARGEST = 9007199254740992 - 131072
-- The highest fence, as clients know it, too; and the highest that others may follow: what a call may give then stays
-- below the other.
local MOST_FENCE = 4503599627370496
local LAST_FOLLOWED = MOST_FENCE - 131072
-- Fences that a grant reserves for local handoffs; how many dead waiters or ended leases one call may pass over; how long a
-- queue that nobody polls stands; how long a record outlives its expiry (an expired record frees the lock by itself: this only
-- sweeps); how long a semaphore that nobody uses remembers its limit.
local RANGE, SKIPS, QUEUE_MS, SWEEP_MS, LIMIT_MS = 8, 64, 120000, 1000, 86400000
-- How many waiters are told to look where nobody else looks after a handoff, and how long after each other.
local LOOKERS, STAGGER_US = 16, 10000
-- For how long a waiter that lives may not ask, at most (us): the slowest poll, 36 s, and a request's time.
local SILENT = 45000000
-- What every verb that has a not-after replies beyond it, with the server's time: nothing was done.
local LATE = 4
-- Messages to an inbox.
local GRANT, NEXT, WAITS, BROKEN, SETTLED = 1, 2, 3, 4, 5

local function now()
  local time = redis.call('TIME')
  local ts = time[1] * 1000000 + time[2]
  if ts > LAST_FOLLOWED then
    error(redis.error_reply('BELAYARGS the clock of this server is past the year 2112'))
  end
  return ts
end

-- Whether it is a whole number within bounds. Any other is not Belay's, and no command is given it.
local function sound(number)
  return number >= 0 and number <= LARGEST and number % 1 == 0
end

-- Whether five numbers are. Spelled out, as calls cost.
local function are_sound(a, b, c, d, e)
  return a >= 0 and b >= 0 and c >= 0 and d >= 0 and e >= 0
    and a <= LARGEST and b <= LARGEST and c <= LARGEST and d <= LARGEST and e <= LARGEST
    and (a % 1) + (b % 1) + (c % 1) + (d % 1) + (e % 1) == 0
end

-- Ends the verb with an error where a call is none that Belay's clients make.
local function check_call(as_sent)
  if not as_sent then
    error(redis.error_reply('BELAYARGS the keys or arguments are not as Belay sends them'))
  end
end

local function is_kind(byte)
  return byte == LOCK or byte == SEMAPHORE
end

local function is_joint(record)
  return record:byte(4) == 0
end

-- Whether this is a record that we can read.
local function is_record(text)
  local kind = text:byte(2)
  if #text < HEADER_SIZE or text:byte(1) ~= VERSION or not is_kind(kind) then
    return false
  end
  local fence, since, last, until_, _, _, _, delay = struct.unpack('<ddddHHc30d', text, FENCE_OFFSET + 1)
  if not are_sound(fence, since, last, until_, delay) then
    return false
  end
  if not is_joint(text) then
    return kind == LOCK
  end
  if #text < HEADER_SIZE + JOINT_SIZE then
    return false
  end
  local used, limit = struct.unpack(JOINT, text, HEADER_SIZE + 1)
  return sound(used) and sound(limit) and (limit > 0) == (kind == SEMAPHORE)
end

-- Why `record` cannot be read as one of `kind` (nil: of any that the verb knows), as an error reply; nil where it can or is
-- absent.
local function unreadable(record, key, kind)
  if not record or is_record(record) and (not kind or record:byte(2) == kind) then
    return nil
  end
  if #record >= HEADER_SIZE and record:byte(1) > VERSION then
    return redis.error_reply('BELAYVERSION key ' .. key .. ' was written by a newer version of Belay')
  end
  local kinds = { 'lock', 'semaphore', 'latch' }
  local other = #record > 2 and record:byte(1) == VERSION and kinds[record:byte(2)]
  local wanted = kinds[kind or LOCK]
  if other and other ~= wanted then
    return redis.error_reply('BELAYTYPE key ' .. key .. ' holds a ' .. other .. ', not a ' .. wanted)
  end
  return redis.error_reply('BELAYTYPE key ' .. key .. ' does not hold a ' .. wanted)
end

local function is_claim(record, claim)
  return record:sub(4, 33) == claim
end

local function expires(record)
  return (struct.unpack('<d', record, EXPIRES_OFFSET + 1))
end

-- Until when nobody else gets it.
local function kept_until(record)
  return expires(record) + struct.unpack('<d', record, DELAY_OFFSET + 1)
end

local function tell(inbox, client, message)
  return redis.call('PUBLISH', inbox .. client:sub(1, CLIENT_SIZE), message)
end

-- Tells a waiter what it is to believe, with a MAC before the key that only those can make who know the secret of its entry:
-- nested as HMAC is (RFC 2104), so that nobody who has seen one can make that of a longer message.
local function tell_surely(inbox, who, secret, message, key)
  local client = who:sub(1, CLIENT_SIZE)
  local mac = redis.sha1hex(secret .. redis.sha1hex(secret .. client .. message .. key))
  return tell(inbox, client, message .. mac .. key)
end

-- Lets the record of a holder expire at `until_` at the soonest. PEXPIRE goes first: it is allowed when memory is full, and
-- a script that has written may go on writing.
local function prolong(key, ts, until_, packed, offset)
  redis.call('PEXPIRE', key, math.ceil((until_ - ts) / 1000) + SWEEP_MS)
  redis.call('SETRANGE', key, offset, packed)
end

-- Ends the verb over what stands for a fence, before anything is written.
local function refuse_fence(key)
  error(redis.error_reply('BELAYTYPE key ' .. key .. ' does not hold a fence that a higher one may follow: delete it, and '
    .. 'restart clients that have seen that fence'))
end

-- What a fence's key holds.
local function fence_in(key, stored)
  local fence = #stored == 8 and struct.unpack('<d', stored)
  if not fence or not (fence >= 0 and fence <= MOST_FENCE and fence % 1 == 0) then
    refuse_fence(key)
  end
  return fence
end

-- The highest fence of the slot; 0 where there is none.
local function stored_fence(keys, at)
  local stored = redis.call('GET', keys[at + 1])
  return stored and fence_in(keys[at + 1], stored) or 0
end

-- That, or what the client has seen, if that is higher: for a verb to begin with, as others may follow it.
local function highest_fence(keys, at, seen)
  local stored = redis.call('GET', keys[at + 1])
  local highest = stored and math.max(fence_in(keys[at + 1], stored), seen) or seen
  if highest > LAST_FOLLOWED then
    refuse_fence(keys[at + 1])
  end
  return highest
end

-- Makes a fence, and reserves `range` more. Returns it and the end of its range.
local function new_fence(keys, at, ts, highest, range)
  local fence = math.max(highest + 1, ts)
  redis.call('SET', keys[at + 1], struct.pack('<d', fence + range))
  return fence, fence + range
end

-- Writes the record of a new holder who is alone.
local function put(key, claim, ts, lease, fence, last, waits, local_waiters, delay, info, from)
  redis.call('SET', key,
    struct.pack(HEADER, VERSION, LOCK, waits and 1 or 0, claim, fence, ts, last, ts + lease, 1, local_waiters, from or NOBODY,
      delay) .. info, 'PX', math.ceil((lease + delay) / 1000) + SWEEP_MS)
end

-- The same, with a new fence. Returns the fence and the end of its range.
local function take(keys, at, claim, ts, lease, highest, waits, local_waiters, delay, info, from)
  local fence, last = new_fence(keys, at, ts, highest, RANGE)
  put(keys[at], claim, ts, lease, fence, last, waits, local_waiters, delay, info, from)
  return fence, last
end

-- The grant of `record` was taken up: tells who looks after it, unless that is `client`.
local function tell_settled(key, record, inbox, ts, client)
  local from = record:sub(FROM_OFFSET + 1, DELAY_OFFSET)
  if from:byte() ~= 0 and from:sub(1, 22) ~= client then
    tell(inbox, from, struct.pack('<BBc8d', SETTLED, LOCK, from:sub(23), ts) .. key)
  end
end

-- The same, of a holder that goes on.
local function settle(key, record, inbox, ts)
  if record:sub(FROM_OFFSET + 1, DELAY_OFFSET) ~= NOBODY then
    redis.call('SETRANGE', key, FROM_OFFSET, NOBODY)
    tell_settled(key, record, inbox, ts)
  end
end

local function epoch_of(packed)
  return (struct.unpack('<d', packed))
end

-- The entry of a waiter; nil where there is none, or none that can be read.
local function entry_of(key, who)
  local entry = redis.call('HGET', key, who)
  if not entry or (#who ~= CLIENT_SIZE and #who ~= CLAIM_SIZE) or #entry < ENTRY_SIZE then
    return nil
  end
  local epoch, grant, delay, permits, limit, size = struct.unpack('<dddddH', entry)
  local fine = sound(epoch) and sound(grant) and sound(delay) and sound(permits) and sound(limit)
  return fine and #entry >= ENTRY_SIZE + size and entry or nil
end

-- Tells a waiter to look again in `wait` microseconds. Returns whether anybody listens.
local function tell_look(keys, at, inbox, ts, who, entry, wait)
  local kind = #who == CLAIM_SIZE and SEMAPHORE or LOCK
  return tell(inbox, who, struct.pack('<BBc8dd', NEXT, kind, entry, ts, wait) .. keys[at]) > 0
end

-- Tells the first waiter to look again in `wait` microseconds, or the first `most`, one shortly after the other; drops those
-- that nobody listens for.
local function tell_next(keys, at, inbox, ts, wait, most)
  local told = 0
  for _ = 1, SKIPS do
    local who = redis.call('ZRANGE', keys[at + 2], told, told)[1]
    if not who then
      return
    end
    local entry = entry_of(keys[at + 3], who)
    if entry and tell_look(keys, at, inbox, ts, who, entry, wait + told * STAGGER_US) then
      told = told + 1
      if told == (most or 1) then
        return
      end
    else
      redis.call('ZREM', keys[at + 2], who)
      redis.call('HDEL', keys[at + 3], who)
    end
  end
end

-- Lets a key stand for `ms` more at least.
local function keep(key, ms)
  redis.call('PEXPIRE', key, math.max(ms, redis.call('PTTL', key)))
end

-- The next claim that is queued is to look after the handoff. PEXPIRE goes first, as in prolong().
local function leave_to_anybody(key)
  keep(key, SWEEP_MS)
  redis.call('SETRANGE', key, FROM_OFFSET, ANYBODY)
end

-- Lets the queue, the waiters' hash and the ends stand for `ms` more at least, and all for as long: what one of them lists has
-- its text in another, which must not stay behind.
local function keep_lists(keys, at, ms)
  ms = math.max(ms, redis.call('PTTL', keys[at + 3]))
  for index = at + 2, at + 4 do
    redis.call('PEXPIRE', keys[index], ms)
  end
end

-- Fails where a key that comes later holds something else, before anything is written.
local function check_types(keys, at)
  redis.call('ZSCORE', keys[at + 2], '')
  redis.call('HGET', keys[at + 3], '')
  redis.call('ZSCORE', keys[at + 4], '')
end

-- What members do. Made only where they are needed, as closures cost.
local function members(keys, at, ts)
  local self = {}

  -- What several hold together, as its record says; nil where it does not stand.
  function self.read(record)
    if not record or not is_joint(record) then
      return nil
    end
    local used, limit = struct.unpack(JOINT, record, HEADER_SIZE + 1)
    local fence = struct.unpack('<d', record, FENCE_OFFSET + 1)
    return { used = used, limit = limit, fence = fence, group = record:sub(HEADER_SIZE + JOINT_SIZE + 1) }
  end

  -- Begins what several will hold together. A semaphore has a limit; those who share a lock are of one group, under one fence.
  function self.begin(fence, group, limit)
    redis.call('SET', keys[at],
      struct.pack(HEADER, VERSION, limit > 0 and SEMAPHORE or LOCK, 0, NOBODY, fence, ts, fence, 0, 0, 0, NOBODY, 0)
        .. struct.pack(JOINT, 0, limit) .. group, 'PX', limit > 0 and LIMIT_MS or SWEEP_MS)
    -- Left by a record that has lapsed or that somebody deleted. After the SET, which is refused where memory is full unless
    -- something was written.
    for first = 0, SKIPS * (SKIPS - 1), SKIPS do
      local left = redis.call('ZRANGE', keys[at + 4], first, first + SKIPS - 1)
      if #left == 0 then
        break
      end
      for index, who in ipairs(left) do
        left[index] = '=' .. who
      end
      redis.call('HDEL', keys[at + 3], unpack(left))
    end
    redis.call('DEL', keys[at + 4])
    return { used = 0, limit = limit, fence = fence, group = group }
  end

  local function count(joint, by)
    joint.used = joint.limit > 0 and math.max(0, joint.used + by) or redis.call('ZCARD', keys[at + 4])
    redis.call('SETRANGE', keys[at], HEADER_SIZE, struct.pack('<d', joint.used))
  end

  function self.set_limit(joint, limit)
    joint.limit = limit
    keep(keys[at], LIMIT_MS) -- first, as in prolong()
    redis.call('SETRANGE', keys[at], HEADER_SIZE + 8, struct.pack('<d', limit))
  end

  -- A member; nil where there is none, or none that can be read.
  function self.find(who)
    local member = redis.call('HGET', keys[at + 3], '=' .. who)
    if not member or #member < MEMBER_SIZE or not redis.call('ZSCORE', keys[at + 4], who) then
      return nil
    end
    local epoch, fence, since, until_, delay, permits = struct.unpack('<dddddd', member)
    local fine = sound(epoch) and sound(fence) and sound(since) and sound(until_) and sound(delay) and sound(permits)
    return fine and { epoch = epoch, fence = fence, since = since, expires = until_, delay = delay, permits = permits } or nil
  end

  -- Writes a member's end. PEXPIRE goes first, as in prolong().
  function self.write(joint, who, member, info)
    local stands = math.ceil((member.expires + member.delay - ts) / 1000) + SWEEP_MS
    keep(keys[at], math.max(stands, joint.limit > 0 and LIMIT_MS or 0))
    redis.call('ZADD', keys[at + 4], string.format('%.0f', member.expires + member.delay), who)
    redis.call('HSET', keys[at + 3], '=' .. who,
      struct.pack(MEMBER, struct.pack('<d', member.epoch), member.fence, member.since, member.expires, member.delay,
        member.permits, member.holds, member.local_waiters) .. info)
    keep_lists(keys, at, math.max(stands, QUEUE_MS))
  end

  -- The info text of a member that stands.
  function self.info(who)
    return redis.call('HGET', keys[at + 3], '=' .. who):sub(MEMBER_SIZE + 1)
  end

  -- Adds a member. Permits of a semaphore have a fence each; those who share a lock share its fence.
  function self.join(joint, who, member, highest, info)
    -- Whoever has seen a later fence than stands here comes after a loss of data.
    if joint.limit > 0 or highest > stored_fence(keys, at) then
      joint.fence = new_fence(keys, at, ts, highest, 0)
      redis.call('SETRANGE', keys[at], FENCE_OFFSET, struct.pack('<d', joint.fence))
    end
    member.fence, member.since = joint.fence, ts
    self.write(joint, who, member, info)
    count(joint, member.permits)
    return joint.fence
  end

  function self.drop(joint, who, permits)
    redis.call('ZREM', keys[at + 4], who)
    redis.call('HDEL', keys[at + 3], '=' .. who)
    count(joint, -permits)
  end

  -- Drops whose leases have ended. Returns the joint hold, or nil where a lock was held by nobody else.
  function self.sweep(joint)
    local now_text = string.format('(%.0f', ts)
    for _, who in ipairs(redis.call('ZRANGE', keys[at + 4], '-inf', now_text, 'BYSCORE', 'LIMIT', 0, SKIPS)) do
      local member = self.find(who)
      self.drop(joint, who, member and member.permits or 1)
    end
    if redis.call('EXISTS', keys[at + 4]) == 1 then
      return joint
    end
    if joint.limit > 0 then
      if joint.used > 0 then -- some that could not be read had more than was counted
        count(joint, -joint.used)
      end
      return joint
    end
    redis.call('DEL', keys[at])
    return nil
  end

  -- Whether there is room beside them. Who shares a lock is a member of it once: an earlier membership that was lost ends first.
  function self.fits(joint, who, group, permits, limit)
    if joint.limit > 0 then
      return limit > 0 and joint.used + permits <= joint.limit
    end
    return limit == 0 and group ~= '' and joint.group == group and not redis.call('ZSCORE', keys[at + 4], who)
  end

  -- Whether there will never be room: it asks for more permits than there are, or the name is of the other kind by now.
  function self.never_fits(joint, permits, limit)
    return (limit > 0) ~= (joint.limit > 0) or (joint.limit > 0 and permits > joint.limit)
  end

  -- In how long a waiter may look again: when the last of those who share a lock ends, or the first permit comes back.
  function self.look_in(joint)
    local edge = redis.call(joint.limit > 0 and 'ZRANGE' or 'ZREVRANGE', keys[at + 4], 0, 0, 'WITHSCORES')
    return edge[2] and math.max(0, edge[2] - ts) or 0
  end

  return self
end

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
    fence, last = take(keys, at, head .. epoch, ts, grant, hand.highest, waits, 0, delay, info, hand.from or ANYBODY)
  end
  hand.highest = math.max(hand.highest, last)
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

-- Whether a waiter has not asked for longer than any that lives: it is stopped, or dead where a monitor hides that.
local function is_silent(entry, ts)
  return ts - struct.unpack('<d', entry, ASKED_OFFSET + 1) > SILENT
end

-- Serves the waiters in turn, as long as each fits beside who holds: nobody (the lock is free, or its record has lapsed), or
-- hand.joint. A waiter that will never fit loses its place, and is told to look: the reply tells it why. So does, without a word,
-- one that is stopped and would keep others from what it cannot have itself: its ticket gives it its place back.
-- `own` is who asks ({ who, epoch }): not told but returned ('own'), where its entry is of that epoch; its older
-- entries are dropped. hand: joint, highest (fence), from (the claim that looks after the grant; nil: the next that is queued),
-- lookers (how many waiters are to look themselves); filled in: lease (the longest of the grants made, of a lock with its
-- lock-delay; 0: none), to (whom). Returns 'none' (nobody waits any more), 'own', 'other' (handed off to one alone), 'stands'
-- (the first in line does not fit) or 'more' (call again).
local function serve(keys, at, inbox, ts, hand, own)
  hand.lease = 0
  for _ = 1, SKIPS do
    local head = redis.call('ZRANGE', keys[at + 2], 0, 0)[1]
    if not head then
      if not hand.joint then
        redis.call('DEL', keys[at])
      end
      return 'none'
    end
    local entry = entry_of(keys[at + 3], head)
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
