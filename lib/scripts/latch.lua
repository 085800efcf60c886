-- The countdown latch: its record.
--
-- KEYS  record, fence, queue as of a lock, and in place of members
--   4 seen   sorted set of the requests that were carried out, by when they are forgotten
-- An open latch stays, with a count of 0, until it is set again, its time to live ends or it is broken. Each time that it is set
-- is a generation, with a number greater than any earlier one's and than any fence of its slot: waiters wait for a generation.
-- A waiter's entry has its generation where that of a lock has the grant lease, and NO_PERMITS, so that it is none to the verbs
-- of locks and semaphores: a latch's waiters may outlast its record, and are granted nothing.

local KINDS = { 'lock', 'semaphore', 'latch' }

-- Whether a record is a latch's, or would be one if it could be read.
local function begins_latch(record)
  return record and #record > 1 and record:byte(1) == @VERSION@ and record:byte(2) == @LATCH@
end

-- The latch at the record's key, nil where there is none; or nil and why it cannot be read, as an error reply.
local function latch_at(key, ts)
  local record = redis.call('GET', key)
  if not record then
    return nil
  end
  local version, kind = record:byte(1, 2)
  if #record >= @LATCH_SIZE@ and version > @VERSION@ then
    return nil, redis.error_reply('BELAYVERSION key ' .. key .. ' was written by a newer version of Belay')
  elseif #record < @LATCH_SIZE@ or version ~= @VERSION@ or not KINDS[kind] then
    return nil, redis.error_reply('BELAYTYPE key ' .. key .. ' does not hold a latch')
  elseif kind ~= @LATCH@ then
    return nil, redis.error_reply('BELAYTYPE key ' .. key .. ' holds a ' .. KINDS[kind] .. ', not a latch')
  end
  local _, _, _, count, generation, opened_since, until_ = struct.unpack('@LATCH_HEADER@', record)
  if not (sound(count) and sound(generation) and generation <= @MOST_FENCE@ and sound(opened_since) and sound(until_)) then
    return nil, redis.error_reply('BELAYTYPE key ' .. key .. ' does not hold a latch')
  end
  if until_ ~= 0 and until_ < ts then
    return nil
  end
  return { count = count, generation = generation, opened_since = opened_since, expires = until_ }
end
