-- Release: leaves locks that are held alone, that nobody waits for or looks after, and that were not lost; all of them, or none.
-- Any other is for leave.lua. Safe to repeat.
--
-- KEYS  record of each name in turn, all in one slot where the server is a cluster
-- ARGV  1 packed: client id (22 bytes); then the epoch of each name in turn, at most 256
-- Replies, packed, for each name in turn, as leave.lua does: code, 0 (no server time), 0
--   1 ok   5 not plain (of one of them: nothing was done)

-- The usual case: one name.
local request, mark = ARGV[1], ARGV[2]
if #KEYS == 1 and #ARGV == 2 and #request == @CLAIM_SIZE@ and request:byte() ~= 0 then
  local record = redis.pcall('GET', KEYS[1])
  -- Version, a lock, nobody waits; the claim; that nobody looks after a handoff. To find makes no strings.
  if type(record) == 'string' and #record >= @HEADER_SIZE@
    and record:find('\@VERSION@\@LOCK@\0', 1, true) == 1
    and record:find(request, @CLAIM_OFFSET@ + 1, true) == @CLAIM_OFFSET@ + 1
    and record:find('@NOBODY@', @FROM_OFFSET@ + 1, true) == @FROM_OFFSET@ + 1 then
    redis.call('DEL', KEYS[1])
    return '\@LEFT@\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' .. mark
  end
end

-- Else

-- with: calls

local OK, NOT_PLAIN = @LEFT@, @NOT_PLAIN@
local EPOCH_SIZE = 8

check_call(#ARGV == 1 and #KEYS > 0 and #KEYS <= @MOST_NAMES@ and #request == @CLIENT_SIZE@ + #KEYS * EPOCH_SIZE)
check_call(request:byte() ~= 0)
local begin = string.char(@VERSION@, @LOCK@, 0) .. request:sub(1, @CLIENT_SIZE@)
local records = #KEYS > 1 and redis.call('MGET', unpack(KEYS)) or { redis.call('GET', KEYS[1]) }
local plain, from = true, @CLIENT_SIZE@ + 1
for index = 1, #KEYS do
  local record = records[index]
  plain = plain and record and #record >= @HEADER_SIZE@
    and record:sub(1, @FENCE_OFFSET@) == begin .. request:sub(from, from + EPOCH_SIZE - 1)
    and record:sub(@FROM_OFFSET@ + 1, @DELAY_OFFSET@) == '@NOBODY@'
  from = from + EPOCH_SIZE
end
if plain then
  redis.call('DEL', unpack(KEYS))
  return struct.pack('<Bdd', OK, 0, 0):rep(#KEYS)
end

return struct.pack('<Bdd', NOT_PLAIN, 0, 0):rep(#KEYS)
