-- One holder who is alone: its record is written, prolonged, handed on.

-- Lets the record of a holder expire at `until_` at the soonest. PEXPIRE goes first: it is allowed when memory is full, and
-- a script that has written may go on writing.
local function prolong(key, ts, until_, packed, offset)
  redis.call('PEXPIRE', key, math.ceil((until_ - ts) / 1000) + @SWEEP_MS@)
  redis.call('SETRANGE', key, offset, packed)
end

-- Clears what is left of members whose record somebody has deleted. A key of another type stays. Any other error is the call's:
-- those members would go on.
local function clear_members(key)
  local reply = redis.pcall('ZREMRANGEBYRANK', key, 0, -1)
  if type(reply) == 'table' and not reply.err:find('WRONGTYPE', 1, true) then
    error(reply)
  end
end

-- Writes the record of a new holder who is alone, under a new fence, or the next one of the range that is handed on. Returns the
-- fence and the end of its range.
local function take(keys, at, claim, ts, lease, highest, waits, local_waiters, delay, info, from, handed)
  local fence, last = handed and handed.next, handed and handed.last
  if not fence then
    fence, last = new_fence(keys, at, ts, highest, handed and handed.range or @RANGE@)
  end
  from = from or '@NOBODY@'
  redis.call('SET', keys[at],
    struct.pack('@HEADER@', @VERSION@, @LOCK@, waits and 1 or 0, claim, fence, ts, last, ts + lease, 1, local_waiters, from,
      delay) .. info, 'PX', math.ceil((lease + delay) / 1000) + @SWEEP_MS@)
  clear_members(keys[at + 3])
  return fence, last
end

-- The grant of `record` was taken up: tells who looks after it, unless that is `client`.
local function tell_settled(key, record, inbox, ts, client)
  local from = record:sub(@FROM_OFFSET@ + 1, @DELAY_OFFSET@)
  if from:byte() ~= 0 and from:sub(1, 22) ~= client then
    tell(inbox, from, struct.pack('<BBc8d', @SETTLED@, @LOCK@, from:sub(23), ts) .. key)
  end
end

-- The same, of a holder that goes on.
local function settle(key, record, inbox, ts)
  if record:sub(@FROM_OFFSET@ + 1, @DELAY_OFFSET@) ~= '@NOBODY@' then
    redis.call('SETRANGE', key, @FROM_OFFSET@, '@NOBODY@')
    tell_settled(key, record, inbox, ts)
  end
end

-- Lets a key stand for `ms` more at least.
local function keep(key, ms)
  redis.call('PEXPIRE', key, math.max(ms, redis.call('PTTL', key)))
end

-- That claim is to look after the handoff; or ANYBODY. PEXPIRE goes first, as in prolong().
local function leave_handoff_to(key, claim)
  keep(key, @SWEEP_MS@)
  redis.call('SETRANGE', key, @FROM_OFFSET@, claim)
end
