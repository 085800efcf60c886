-- Who waits.

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
  for _ = 1, @SKIPS@ do
    local who = redis.call('ZRANGE', keys[at + 2], told, told)[1]
    if not who then
      return
    end
    local entry = entry_of(keys[at + 3], who)
    if entry and tell_look(keys, at, inbox, ts, who, entry, wait + told * @STAGGER_US@) then
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
