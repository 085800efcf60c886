-- Break: take the lock from whoever holds it and serve the queue. Safe to repeat: with a fence it parts nobody else from it.
--
-- KEYS  record, fence, queue, waiters
-- ARGV  1 packed: fence to break (any of the grant's range, 0 = whoever holds it), highest fence seen
--       2 prefix of inboxes   3 info of who breaks
-- Reply: { server time (packed double), record of the holder that was parted or '', 1 to call again at once or 0 }
-- Messages: broken to the holder, grant and next to waiters.
check_call(#KEYS >= 4 and #ARGV == 3 and #ARGV[1] == 16)
local fence, highest = struct.unpack('<dd', ARGV[1])
local inbox, info = ARGV[2], ARGV[3]
check_call(sound(fence) and sound(highest))
local record = redis.call('GET', KEYS[1])
local ts = now()

local problem = unreadable(record, KEYS[1])
if problem then
  return problem
end
local held = record and expires(record) >= ts
local claim = held and record:sub(4, 33)
if held then
  local first, _, last = struct.unpack('<ddd', record, 34)
  if fence ~= 0 and (fence < first or fence > last) then
    return { struct.pack('<d', ts), '', 0 }
  end
end
local whom = serve(KEYS, 1, inbox, ts, highest_fence(KEYS, 1, highest))
if held then
  tell(inbox, claim:sub(1, 22), struct.pack('<Bc8dH', BROKEN, claim:sub(23), ts, #KEYS[1]) .. KEYS[1] .. info)
end
return { struct.pack('<d', ts), held and record or '', whom == 'more' and 1 or 0 }
