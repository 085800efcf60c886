-- Release members: leaves what several hold where nobody waits for it, and it was not lost. Anything else is for leave.lua. Safe
-- to repeat.
--
-- KEYS  record, members
-- ARGV  1 packed: the seat without its info text, as MEMBER   2 info text
-- Reply, packed, as leave.lua's: code, 0 (no server time), 0
--   1 ok   5 not plain (nothing was done)
local seat, info, mark = ARGV[1], ARGV[2], ARGV[3]
if #KEYS == 2 and #ARGV == 3 and #seat == @MEMBER_SIZE@ and seat:byte() ~= 0 then
  local record = redis.pcall('GET', KEYS[1])
  if type(record) == 'string' and #record >= @HEADER_SIZE@ + @JOINT_SIZE@ then
    local is_lock = record:find('\@VERSION@\@LOCK@\0@NOBODY@', 1, true) == 1
    local is_semaphore = record:find('\@VERSION@\@SEMAPHORE@\0@NOBODY@', 1, true) == 1
    local permits = is_semaphore and struct.unpack('<d', seat, @PERMITS_OFFSET@ + 1) or 1
    local left = struct.unpack('<d', record, @HEADER_SIZE@ + 1) - permits
    if (is_lock or is_semaphore) and left >= 0 and left % 1 == 0
      and redis.pcall('ZREM', KEYS[2], seat .. info) == 1 then
      if left == 0 and is_lock then
        redis.call('DEL', KEYS[1], KEYS[2])
      else
        redis.call('ZREM', KEYS[2], seat:sub(1, is_lock and @CLIENT_SIZE@ or @CLAIM_SIZE@))
        redis.call('SETRANGE', KEYS[1], '@HEADER_SIZE@', struct.pack('<d', left))
      end
      return '\@LEFT@\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' .. mark
    end
  end
  return '\@NOT_PLAIN@\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' .. mark
end

-- Else

-- with: calls

check_call(false)
