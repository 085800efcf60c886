-- Who waits for a latch.

-- How the generation of those who are told has ended.
local OPENED, GONE = @OPENED@, @GONE@

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
  for index, client in ipairs(redis.call('ZRANGE', keys[3], 0, @SKIPS@ - 1)) do
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
        struct.pack('<BBc8ddB', @PASSED@, LATCH, waiter.entry, ts, generation, how), keys[1])
    end
  end
  return #waiters == @SKIPS@ and redis.call('EXISTS', keys[3]) == 1
end
