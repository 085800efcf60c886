-- Renew: confirm, prolong and verify many claims at once. Extends only what is ours, never shortens, never re-creates.
-- Safe to repeat.
--
-- KEYS  record, fence, queue, waiters of each claim in turn
-- ARGV  1 prefix of inboxes   2 highest fence seen, packed double
--       3 and on, packed, one a claim: claim (30 bytes), lease us (0 = only look), fence of the grant, how many more
--         fences to reserve, holds, local waiters
-- Reply: server time (packed double), then for each claim, packed: code, end of the fence range, somebody waits (0, 1)
--   1 ok   2 not ours   3 the record cannot be read (another type or version)
-- Messages: next to the first waiter; settled to who handed it on; grant where a lapsed record was found.
local OK, NOT_OURS, UNREADABLE = 1, 2, 3

check_call(#ARGV >= 2 and #KEYS >= (#ARGV - 2) * 4 and #ARGV[2] == 8)
local inbox = ARGV[1]
local highest = struct.unpack('<d', ARGV[2])
check_call(sound(highest))
local ts = now()

local function reserve(at, last)
  if highest_fence(KEYS, at, 0) < last then
    redis.call('SET', KEYS[at + 1], struct.pack('<d', last))
  end
end

-- A foreign key beside the record must not cost its holder, or others, the renewal.
local function renew(at, request)
  local claim, lease, fence, more, holds, local_waiters = struct.unpack('<c30ddHHH', request)
  local record = redis.pcall('GET', KEYS[at])
  if type(record) == 'table' or unreadable(record, KEYS[at]) then
    return UNREADABLE, 0, 0
  end
  if not record or expires(record) < ts then
    local fine, above = pcall(highest_fence, KEYS, at, highest)
    if fine then
      pcall(serve, KEYS, at, inbox, ts, above)
    end
    return NOT_OURS, 0, 0
  end
  local waits, holder, first, _, last, until_ = struct.unpack('<Bc30dddd', record, WAITS_OFFSET + 1)
  if holder ~= claim or first ~= fence then
    return NOT_OURS, 0, 0
  end
  until_ = math.max(until_, ts + lease)
  prolong(KEYS[at], ts, until_, struct.pack('<ddHH', last, until_, holds, local_waiters), LAST_OFFSET)
  settle(KEYS[at], record, inbox, ts)
  if more > 0 and pcall(reserve, at, last + more) then
    last = last + more
    redis.call('SETRANGE', KEYS[at], LAST_OFFSET, struct.pack('<d', last))
  end
  if waits == 1 and redis.call('EXISTS', KEYS[at + 2]) == 0 then
    waits = 0
    redis.call('SETRANGE', KEYS[at], WAITS_OFFSET, '\0')
  elseif waits == 1 then
    pcall(tell_next, KEYS, at, inbox, ts, until_ - ts)
  end
  return OK, last, waits
end

for index = 3, #ARGV do
  check_call(#ARGV[index] == 52 and sound((struct.unpack('<d', ARGV[index], 31))))
end
local reply = { struct.pack('<d', ts) }
for index = 3, #ARGV do
  reply[#reply + 1] = struct.pack('<BdB', renew((index - 3) * 4 + 1, ARGV[index]))
end
return table.concat(reply)
