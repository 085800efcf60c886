-- Keep: renews and verifies locks that are held alone and whose handoff nobody looks after; any other is for renew.lua.
-- Extends only what is ours, never shortens, never re-creates. Safe to repeat. It touches the records alone, so that it runs on
-- one of the two nodes while a slot of a cluster moves. Waiters are not told: they look when the lease would have ended.
--
-- KEYS  record of each claim in turn, all in one slot where the server is a cluster
-- ARGV  1 packed: not-after us (do nothing beyond that time); then for each claim in turn, at most 256: claim (30 bytes), fence
--         of the grant, lease us (0 = only look), holds, local waiters
-- Reply, packed, as renew.lua's: server time, then for each claim in turn: code, end of the fence range, somebody waits (0, 1)
--   1 ok   5 not plain (nothing was done for this one)
-- or for all at once: 4 late, server time

-- The usual case is all that there is. To find makes no strings.
local request, mark = ARGV[1], ARGV[2]
if #ARGV == 2 and #KEYS > 0 and #KEYS <= @MOST_NAMES@ and #request == 8 + #KEYS * 50 then
  local time = redis.call('TIME')
  local ts = time[1] * 1000000 + time[2]
  if ts > struct.unpack('<d', request) then
    return struct.pack('<Bd', @LATE@, ts) .. mark
  end
  local reply, from = { struct.pack('<d', ts) }, 9
  for index = 1, #KEYS do
    local key = KEYS[index]
    local record = redis.pcall('GET', key)
    local last, is_kept = 0, false
    -- Version, a lock; the claim and its fence; that nobody looks after a handoff.
    if type(record) == 'string' and #record >= @HEADER_SIZE@ and request:byte(from) ~= 0
      and record:find('\@VERSION@\@LOCK@', 1, true) == 1
      and record:sub(@CLAIM_OFFSET@ + 1, @FENCE_OFFSET@ + 8) == request:sub(from, from + 37)
      and record:find('@NOBODY@', @FROM_OFFSET@ + 1, true) == @FROM_OFFSET@ + 1 then
      local lease, holds, local_waiters = struct.unpack('<dHH', request, from + 38)
      local range_end, until_ = struct.unpack('<dd', record, @LAST_OFFSET@ + 1)
      local delay = struct.unpack('<d', record, @DELAY_OFFSET@ + 1)
      if until_ >= ts and delay >= 0 and range_end >= 0 and lease >= 0 and until_ + delay + range_end + lease < @LARGEST@
        and until_ % 1 + delay % 1 + range_end % 1 + lease % 1 == 0 then
        until_ = math.max(until_, ts + lease)
        -- PEXPIRE goes first: it is allowed when memory is full, and a script that has written may go on writing.
        local stands = string.format('%d', math.ceil((until_ + delay - ts) / 1000) + @SWEEP_MS@)
        last = range_end
        is_kept = lease == 0 or redis.pcall('PEXPIRE', key, stands) == 1
          and redis.pcall('SETRANGE', key, '@EXPIRES_OFFSET@', struct.pack('<dHH', until_, holds, local_waiters)) == #record
      end
    end
    reply[index + 1] = is_kept and struct.pack('<BdB', @RENEWED@, last, record:byte(@WAITS_OFFSET@ + 1)) or '\@NOT_PLAIN@\0\0\0\0\0\0\0\0\0'
    from = from + 50
  end
  return table.concat(reply) .. mark
end

-- Else

-- with: calls

check_call(false)
