-- The countdown latch: its record.
--
-- An open latch stays, with a count of 0, until it is set again, its time to live ends or it is broken. Each time that it is set
-- is a generation, with a number greater than any earlier one's and than any fence of its slot: waiters wait for a generation.
-- A waiter's entry has its generation where that of a lock has the grant lease, and NO_PERMITS, so that it is none to the verbs
-- of locks and semaphores: a latch's waiters may outlast its record, and are granted nothing.

-- The latch that a record says, of which the header is enough: many requests may follow. Or nil, and why it cannot be read, as an
-- error reply, and the latch that has ended, which still has its requests.
local function latch_of(record, key, ts)
  if not record then
    return nil
  elseif #record < @LATCH_SIZE@ or record:byte(1) ~= @VERSION@ or record:byte(2) ~= @LATCH@ then
    return nil, is_not(record, key, @LATCH@)
  end
  local _, _, _, count, last, keep, room, generation, opened_since, until_, info_size = struct.unpack('@LATCH_HEADER@', record)
  if not are_sound(count, last, keep, room, opened_since) or not are_sound(generation, until_, 0, 0, 0)
    or generation > @MOST_FENCE@ then
    return nil, redis.error_reply('BELAYTYPE key ' .. key .. ' does not hold a latch')
  end
  local latch = { count = count, last = last, keep = keep, room = room, generation = generation, opened_since = opened_since,
    expires = until_, info_size = info_size }
  if until_ ~= 0 and until_ < ts then
    return nil, nil, latch
  end
  return latch
end
