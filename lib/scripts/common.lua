-- What the verbs of the lock share. Prepended to each of them when the library is built; the verb itself becomes the body of a
-- function that guarded() calls. Every verb reads whatever it may need before it writes: an error changes nothing.
--
-- KEYS of one resource, in this order wherever a verb names them:
--   1 record   who holds it: HEADER, then the holder's info text
--   2 fence    the highest fence given out in this slot: a packed double
--   3 queue    sorted set of waiting clients, by ticket
--   4 waiters  hash, client -> ENTRY, then the waiter's info text
-- A claim is a client id (22 characters) and an epoch (packed double): 30 bytes that are compared as they stand.
-- Times are microseconds of this server's clock. README.md is the whole contract.

local VERSION, LOCK = 1, 1
-- version, type, somebody waits (0, 1), claim, fence, since, end of the fence range, expires, holds, local waiters, the claim
-- that handed it on and looks after it until the holder confirms or leaves
local HEADER, HEADER_SIZE = '<BBBc30ddddHHc30', 99
local WAITS_OFFSET, FENCE_OFFSET, LAST_OFFSET, EXPIRES_OFFSET, FROM_OFFSET = 2, 33, 49, 57, 69
local NOBODY = ('\0'):rep(30)
-- epoch, grant lease
local ENTRY, ENTRY_SIZE, CLIENT_SIZE = '<c8d', 16, 22
-- 2^53, to which a double counts, less room for what is added to it.
local LARGEST = 9007199254740992 - 131072
-- Fences that a grant reserves for local handoffs; how many dead waiters one call may skip; how long a queue that nobody
-- polls stands; how long a record outlives its expiry (an expired record frees the lock by itself: this only sweeps).
local RANGE, SKIPS, QUEUE_MS, SWEEP_MS = 8, 64, 120000, 1000
-- Messages to an inbox.
local GRANT, NEXT, WAITS, BROKEN, SETTLED = 1, 2, 3, 4, 5

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- Whether it is a whole number within bounds. Any other is not Belay's, and no command is given it.
local function sound(number)
  return number >= 0 and number <= LARGEST and number % 1 == 0
end

-- Ends the verb with an error where a call is none that Belay's clients make.
local function check_call(as_sent)
  if not as_sent then
    error(redis.error_reply('BELAYARGS the keys or arguments are not as Belay sends them'))
  end
end

-- Whether this is a record that we can read.
local function is_record(text)
  if #text < HEADER_SIZE or text:byte(1) ~= VERSION or text:byte(2) ~= LOCK then
    return false
  end
  local fence, since, last, until_ = struct.unpack('<dddd', text, FENCE_OFFSET + 1)
  return sound(fence) and sound(since) and sound(last) and sound(until_)
end

-- Why `record` cannot be read, as an error reply; nil where it can or is absent.
local function unreadable(record, key)
  if not record or is_record(record) then
    return nil
  end
  if #record >= HEADER_SIZE and record:byte(1) > VERSION then
    return redis.error_reply('BELAYVERSION key ' .. key .. ' was written by a newer version of Belay')
  end
  return redis.error_reply('BELAYTYPE key ' .. key .. ' does not hold a lock')
end

local function is_claim(record, claim)
  return record:sub(4, 33) == claim
end

local function expires(record)
  return (struct.unpack('<d', record, EXPIRES_OFFSET + 1))
end

local function epoch_of(packed)
  return (struct.unpack('<d', packed))
end

local function tell(inbox, client, message)
  return redis.call('PUBLISH', inbox .. client, message)
end

-- The entry of a waiter; nil where there is none, or none that can be read.
local function entry_of(key, client)
  local entry = redis.call('HGET', key, client)
  if not entry or #client ~= CLIENT_SIZE or #entry < ENTRY_SIZE then
    return nil
  end
  local epoch, grant = struct.unpack('<dd', entry)
  return sound(epoch) and sound(grant) and entry or nil
end

-- Tells the first waiter to look again in `wait` microseconds; drops those that nobody listens for.
local function tell_next(keys, at, inbox, ts, wait)
  for _ = 1, SKIPS do
    local head = redis.call('ZRANGE', keys[at + 2], 0, 0)[1]
    if not head then
      return
    end
    local entry = entry_of(keys[at + 3], head)
    if entry and tell(inbox, head, struct.pack('<Bc8dd', NEXT, entry, ts, wait) .. keys[at]) > 0 then
      return
    end
    redis.call('ZREM', keys[at + 2], head)
    redis.call('HDEL', keys[at + 3], head)
  end
end

-- Lets the record of a holder expire at `until_` at the soonest. PEXPIRE goes first: it is allowed when memory is full, and
-- a script that has written may go on writing.
local function prolong(key, ts, until_, packed, offset)
  redis.call('PEXPIRE', key, math.ceil((until_ - ts) / 1000) + SWEEP_MS)
  redis.call('SETRANGE', key, offset, packed)
end

-- The highest fence of the slot, or what the client has seen, if that is higher. Ends the verb where the key holds no fence.
local function highest_fence(keys, at, seen)
  local stored = redis.call('GET', keys[at + 1])
  if not stored then
    return seen
  end
  local fence = #stored == 8 and struct.unpack('<d', stored)
  if not fence or not sound(fence) then
    error(redis.error_reply('BELAYTYPE key ' .. keys[at + 1] .. ' does not hold a fence'))
  end
  return math.max(fence, seen)
end

-- Writes the record of a new holder with a new fence. Returns the fence and the end of its range.
local function take(keys, at, claim, ts, lease, highest, waits, local_waiters, info, from)
  local fence = math.max(highest + 1, ts)
  local last = fence + RANGE
  redis.call('SET', keys[at + 1], struct.pack('<d', last))
  redis.call('SET', keys[at],
    struct.pack(HEADER, VERSION, LOCK, waits and 1 or 0, claim, fence, ts, last, ts + lease, 1, local_waiters, from or NOBODY)
      .. info, 'PX', math.ceil(lease / 1000) + SWEEP_MS)
  return fence, last
end

-- The lock is free, or its record has lapsed: gives it to the first waiter that listens. `claim`'s own client is not told but
-- returned ('own'), where its entry is of that epoch; its older entries are dropped.
-- Fences go on from `highest`; `from` looks after the grant. Returns 'none' (nobody waits, the record is gone), 'own', 'other'
-- (handed off) or 'more' (all skipped so far: call again); the highest fence; where it was handed off, the grant lease and to
-- which client.
local function serve(keys, at, inbox, ts, highest, claim, from)
  for _ = 1, SKIPS do
    local head = redis.call('ZRANGE', keys[at + 2], 0, 0)[1]
    if not head then
      redis.call('DEL', keys[at])
      return 'none', highest
    end
    local entry = entry_of(keys[at + 3], head)
    redis.call('ZREM', keys[at + 2], head)
    redis.call('HDEL', keys[at + 3], head)
    local mine = claim and head == claim:sub(1, 22)
    if mine and entry and epoch_of(entry) >= epoch_of(claim:sub(23)) then
      redis.call('DEL', keys[at])
      return 'own', highest
    end
    if entry and not mine then
      local epoch, grant = struct.unpack(ENTRY, entry)
      local waits = redis.call('EXISTS', keys[at + 2]) == 1
      local fence, last = take(keys, at, head .. epoch, ts, grant, highest, waits, 0, entry:sub(ENTRY_SIZE + 1), from)
      local message = struct.pack('<Bc8ddddB', GRANT, epoch, ts, fence, last, grant, waits and 1 or 0)
      if tell(inbox, head, message .. keys[at]) > 0 then
        if waits then
          tell_next(keys, at, inbox, ts, grant)
        end
        return 'other', last, grant, head
      end
      highest = last
    end
  end
  redis.call('DEL', keys[at])
  return 'more', highest
end

-- The grant of `record` was taken up: tells who looks after it, unless that is `client`.
local function tell_settled(key, record, inbox, ts, client)
  local from = record:sub(FROM_OFFSET + 1, HEADER_SIZE)
  if from ~= NOBODY and from:sub(1, 22) ~= client then
    tell(inbox, from:sub(1, 22), struct.pack('<Bc8d', SETTLED, from:sub(23), ts) .. key)
  end
end

-- The same, of a holder that goes on.
local function settle(key, record, inbox, ts)
  if record:sub(FROM_OFFSET + 1, HEADER_SIZE) ~= NOBODY then
    redis.call('SETRANGE', key, FROM_OFFSET, NOBODY)
    tell_settled(key, record, inbox, ts)
  end
end

-- Calls a verb. Where it fails over a key of another type, the error names the key.
local function guarded(verb)
  local fine, reply = pcall(verb)
  if fine then
    return reply
  end
  local types = { 'string', 'string', 'zset', 'hash' }
  for index, key in ipairs(KEYS) do
    local type_of = redis.pcall('TYPE', key).ok
    if type_of and type_of ~= 'none' and type_of ~= types[(index - 1) % 4 + 1] then
      return redis.error_reply('BELAYTYPE key ' .. key .. ' holds a ' .. type_of .. ', which is not of Belay')
    end
  end
  return type(reply) == 'table' and reply or redis.error_reply(reply)
end
