-- Release: leaves locks that are held alone, that nobody waits for or looks after, and that were not lost; all of them, or none.
-- Any other is for leave.lua. Safe to repeat.
--
-- KEYS  record of each name in turn, all in one slot where the server is a cluster
-- ARGV  1 packed: client id (22 bytes); then the epoch of each name in turn, at most 256
-- Replies, packed, for each name in turn, as leave.lua does: code, server time, 0
--   1 ok   5 not plain (of one of them: nothing was done)
local OK, NOT_PLAIN = 1, 5
local MOST = 256
local EPOCH_SIZE = 8

local request = ARGV[1]
check_call(#ARGV == 1 and #KEYS > 0 and #KEYS <= MOST and #request == CLIENT_SIZE + #KEYS * EPOCH_SIZE)
check_call(request:byte() ~= 0)
local begin = string.char(VERSION, LOCK, 0) .. request:sub(1, CLIENT_SIZE)
local records = #KEYS > 1 and redis.call('MGET', unpack(KEYS)) or { redis.call('GET', KEYS[1]) }
local plain, from = true, CLIENT_SIZE + 1
for index = 1, #KEYS do
  local record = records[index]
  plain = plain and record and #record >= HEADER_SIZE
    and record:sub(1, FENCE_OFFSET) == begin .. request:sub(from, from + EPOCH_SIZE - 1)
    and record:sub(FROM_OFFSET + 1, DELAY_OFFSET) == NOBODY
  from = from + EPOCH_SIZE
end
local ts = now()
if plain then
  redis.call('DEL', unpack(KEYS))
  return struct.pack('<Bdd', OK, ts, 0):rep(#KEYS)
end

-- Rarely

return struct.pack('<Bdd', NOT_PLAIN, ts, 0):rep(#KEYS)
