-- Keep members: renews and verifies those who hold names together, by the members alone; what takes more is for renew.lua.
-- Extends only what is ours, never shortens, never re-creates. Safe to repeat. Waiters are not told: they look when the leases
-- would have ended. The caller sees to it that a full renewal comes before the name ends (STANDS_US).
--
-- KEYS  members of each claim in turn, all in one slot where the server is a cluster
-- ARGV  1 packed: not-after us (do nothing beyond that time); then for each claim in turn, at most 256: its seat without the
--         info text, as MEMBER, lease us (0 = only look), kind   2 info text
-- Reply, packed, as renew.lua's: server time, then for each claim in turn: code, end of the fence range, 0
--   1 ok   5 not plain (nothing was done for this one: nobody sits there)
-- or for all at once: 4 late, server time
local request, info, mark = ARGV[1], ARGV[2], ARGV[3]
if #ARGV == 3 and #KEYS > 0 and #KEYS <= @MOST_NAMES@ and #request == 8 + #KEYS * 75 then
  local time = redis.call('TIME')
  local ts = time[1] * 1000000 + time[2]
  if ts > struct.unpack('<d', request) then
    return struct.pack('<Bd', @LATE@, ts) .. mark
  end
  local reply, from = { struct.pack('<d', ts) }, 9
  for index = 1, #KEYS do
    local seat, lease, kind = struct.unpack('<c66dB', request, from)
    local fence, _, delay = struct.unpack('<ddd', seat, @CLAIM_SIZE@ + 1)
    seat = seat .. info
    local ends = tonumber(redis.pcall('ZSCORE', KEYS[index], seat))
    local is_kept = ends and ends - delay >= ts and delay >= 0 and lease >= 0 and lease < @LARGEST@ and lease % 1 == 0
    if is_kept and ts + lease + delay > ends then
      local until_ = string.format('%.0f', ts + lease + delay)
      local who = seat:sub(1, kind == @SEMAPHORE@ and @CLAIM_SIZE@ or @CLIENT_SIZE@)
      is_kept = redis.pcall('ZADD', KEYS[index], until_, seat, '-' .. until_, who) == 0
    end
    reply[index + 1] = is_kept and struct.pack('<BdB', @RENEWED@, fence, 0) or '\@NOT_PLAIN@\0\0\0\0\0\0\0\0\0'
    from = from + 75
  end
  return table.concat(reply) .. mark
end

-- Else

-- with: calls

check_call(false)
