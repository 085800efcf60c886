-- What the verbs that know the countdown latch share: put around them after common.lua.
--
-- KEYS  record, fence, queue, waiters as of a lock, and
--   5 seen   sorted set of the requests that were carried out, by when they are forgotten
-- An open latch stays, with a count of 0, until it is set again, its time to live ends or it is broken. Each time that it is set
-- is a generation, with a number greater than any earlier one's and than any fence of its slot: waiters wait for a generation.
-- A waiter's entry has its generation where that of a lock has the grant lease, and NO_PERMITS, so that it is none to the verbs
-- of locks and semaphores: a latch's waiters may outlast its record, and are granted nothing.

local LATCH, KINDS, NO_PERMITS = 3, { 'lock', 'semaphore', 'latch' }, -1
-- version, type, 0, count, generation, the first generation since which all have been opened, expires (0 = never), the request
-- that set it (client, number); then that client's info text
local LATCH_HEADER, LATCH_SIZE, COUNT_OFFSET, ENDS_OFFSET = '<BBBddddc30', 65, 3, 27
-- The message to waiters, and how their generation ended.
local PASSED, OPENED, GONE = 6, 1, 2

-- Whether a record is a latch's, or would be one if it could be read.
local function begins_latch(record)
  return record and #record > 1 and record:byte(1) == VERSION and record:byte(2) == LATCH
end

-- The latch at the record's key, nil where there is none; or nil and why it cannot be read, as an error reply.
local function latch_at(key, ts)
  local record = redis.call('GET', key)
  if not record then
    return nil
  end
  local version, kind = record:byte(1, 2)
  if #record >= LATCH_SIZE and version > VERSION then
    return nil, redis.error_reply('BELAYVERSION key ' .. key .. ' was written by a newer version of Belay')
  elseif #record < LATCH_SIZE or version ~= VERSION or not KINDS[kind] then
    return nil, redis.error_reply('BELAYTYPE key ' .. key .. ' does not hold a latch')
  elseif kind ~= LATCH then
    return nil, redis.error_reply('BELAYTYPE key ' .. key .. ' holds a ' .. KINDS[kind] .. ', not a latch')
  end
  local _, _, _, count, generation, opened_since, until_ = struct.unpack(LATCH_HEADER, record)
  if not (sound(count) and sound(generation) and generation <= MOST_FENCE and sound(opened_since) and sound(until_)) then
    return nil, redis.error_reply('BELAYTYPE key ' .. key .. ' does not hold a latch')
  end
  if until_ ~= 0 and until_ < ts then
    return nil
  end
  return { count = count, generation = generation, opened_since = opened_since, expires = until_ }
end

local function was_seen(key, request)
  return redis.call('ZSCORE', key, request) and true or false
end

-- Remembers a request, so that it counts once however often it is repeated, also when the latch has been set again meanwhile.
-- What forgets goes first: it is allowed when memory is full, and a script that has written may go on writing.
local function remember(key, request, ts, time)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', ts))
  redis.call('ZADD', key, string.format('%.0f', ts + time), request)
  local ms = math.ceil(time / 1000)
  if redis.call('PTTL', key) < ms then
    redis.call('PEXPIRE', key, ms)
  end
end

-- The entry of a latch's waiter; nil where there is none, or none that can be read.
local function entry_of_waiter(key, client)
  local entry = redis.call('HGET', key, client)
  if not entry or #client ~= CLIENT_SIZE or #entry < ENTRY_SIZE then
    return nil
  end
  local epoch, _, _, permits = struct.unpack('<dddd', entry)
  return sound(epoch) and permits == NO_PERMITS and entry or nil
end

-- As many waiters as one call may tell, with their entries. To be read before anything is written.
local function first_waiters(keys)
  local waiters = {}
  for index, client in ipairs(redis.call('ZRANGE', keys[3], 0, SKIPS - 1)) do
    waiters[index] = { client = client, entry = entry_of_waiter(keys[4], client) }
  end
  return waiters
end

-- Tells these waiters that their generation has ended, and takes them out of the queue. Returns whether others are left.
local function tell_waiters(keys, waiters, inbox, ts, generation, how)
  for _, waiter in ipairs(waiters) do
    redis.call('ZREM', keys[3], waiter.client)
    redis.call('HDEL', keys[4], waiter.client)
    if waiter.entry then
      tell_surely(inbox, waiter.client, waiter.entry:sub(SECRET_OFFSET + 1, ENTRY_SIZE),
        struct.pack('<BBc8ddB', PASSED, LATCH, waiter.entry, ts, generation, how), keys[1])
    end
  end
  return #waiters == SKIPS and redis.call('EXISTS', keys[3]) == 1
end
