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

-- The usual case is all that there is. Equal strings are one: to compare them is free once they are made.
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
    local last, waits, is_kept = 0, 0, false
    if type(record) == 'string' and #record >= @HEADER_SIZE@ then
      local grant, lease, holds, local_waiters = struct.unpack('<c38dHH', request, from)
      local begin, others, held, _, range_end, until_, _, looks_after, delay = struct.unpack('<c2Bc38dddc4c30d', record)
      if begin == '\@VERSION@\@LOCK@' and held == grant and grant:byte() ~= 0
        and looks_after == '@NOBODY@' and until_ >= ts
        and delay >= 0 and range_end >= 0 and lease >= 0 and until_ + delay + range_end + lease < @LARGEST@
        and until_ % 1 + delay % 1 + range_end % 1 + lease % 1 == 0 then
        until_ = math.max(until_, ts + lease)
        last, waits = range_end, others
        -- PEXPIRE goes first: it is allowed when memory is full, and a script that has written may go on writing.
        local stands = string.format('%d', math.ceil((until_ + delay - ts) / 1000) + @SWEEP_MS@)
        is_kept = lease == 0 or redis.pcall('PEXPIRE', key, stands) == 1
          and redis.pcall('SETRANGE', key, '@EXPIRES_OFFSET@', struct.pack('<dHH', until_, holds, local_waiters)) == #record
      end
    end
    reply[index + 1] = is_kept and struct.pack('<BdB', @RENEWED@, last, waits) or '\@NOT_PLAIN@\0\0\0\0\0\0\0\0\0'
    from = from + 50
  end
  return table.concat(reply) .. mark
end

-- Else

-- with: calls

check_call(false)
