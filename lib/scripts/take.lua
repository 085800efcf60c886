-- Take: several locks at once, each to be held alone, all of them or none: where all are free, nobody waits for any, and every
-- fence is behind the clock, as is nearly always so. Anything else is for many.lua, to which a repeated call goes as well.
--
-- KEYS  record of each name in turn; then the queue of each, the members of each, the fence of each; all in one slot in a cluster
-- ARGV  1 info   2 packed: client id (22 bytes), not-after, lease, lock-delay, highest fence seen; then the epoch of each name in
--         turn, at most 256
-- Replies, packed, as many.lua does: code and server time; then
--   1 granted   for each name in turn: fence, end of its range, 0
--   3 busy      remaining lease us of the first name that another client has
--   4 late   6 more (nothing was done: call many)
-- with: calls

local HEAD, HEAD_SIZE, EPOCH_SIZE = '<c22dddd', 54, 8

local info, request = unpack(ARGV)
check_call(#ARGV == 2 and #KEYS > 0 and #KEYS % 4 == 0 and #KEYS <= @MOST_NAMES@ * 4)
local count = #KEYS / 4
check_call(#request == HEAD_SIZE + count * EPOCH_SIZE)
local client, not_after, lease, delay, seen = struct.unpack(HEAD, request)
check_call(client:byte() ~= 0 and are_sound(not_after, lease, delay, seen, 0))
local ts = now()
if ts > not_after then
  return struct.pack('<Bd', @LATE@, ts)
end

-- Whether every fence is behind the clock; not where one cannot be read.
local function are_behind(fences)
  for index = 1, count do
    -- MGET passes over what is no string; GET says so, by a table, whose size is 0.
    local text = fences[index] or redis.pcall('GET', KEYS[3 * count + index]) or struct.pack('<d', 0)
    if #text ~= 8 then
      return false
    end
    fences[index] = text
  end
  local numbers = { struct.unpack('<' .. ('d'):rep(count), table.concat(fences)) }
  local behind = seen < ts -- so that no fence is beyond the last
  for index = 1, count do
    local fence = numbers[index]
    behind = behind and fence >= 0 and fence < ts and fence % 1 == 0
  end
  return behind
end

if redis.call('EXISTS', unpack(KEYS, 1, 3 * count)) == 0 and are_behind(redis.call('MGET', unpack(KEYS, 3 * count + 1))) then
  local begin, stands = string.char(@VERSION@, @LOCK@, 0) .. client, tostring(math.ceil((lease + delay) / 1000) + @SWEEP_MS@)
  local replies, fences, last = { struct.pack('<Bd', @GRANTED@, ts) }, {}, {} -- names of one slot share its fence
  local from, fence, reply, rest, packed = HEAD_SIZE + 1, nil, nil, nil, nil
  for index = 1, count do
    local key = KEYS[3 * count + index]
    local its_fence = last[key] and last[key] + 1 or ts
    local its_last = its_fence + @RANGE@
    if its_fence ~= fence then
      fence, packed, reply = its_fence, struct.pack('<d', its_last), struct.pack('<ddB', its_fence, its_last, 0)
      rest = struct.pack('@AFTER_CLAIM@', fence, ts, its_last, ts + lease, 1, 0,
        '@NOBODY@', delay) .. info
    end
    last[key], replies[index + 1] = its_last, reply
    fences[2 * index - 1], fences[2 * index] = key, packed
    redis.call('SET', KEYS[index], begin .. request:sub(from, from + EPOCH_SIZE - 1) .. rest, 'PX', stands)
    from = from + EPOCH_SIZE
  end
  redis.call('MSET', unpack(fences))
  return table.concat(replies)
end

-- with: foreign record

-- Where all that stands are locks that others have alone, many would say no more.
local remaining
for _, record in ipairs(redis.call('MGET', unpack(KEYS, 1, count))) do
  local is_others = not record or (is_record(record) and record:byte(2) == @LOCK@ and not is_joint(record)
    and record:sub(4, 25) ~= client and kept_until(record) >= ts)
  if not is_others then
    return struct.pack('<Bd', @MORE@, ts)
  end
  remaining = remaining or record and kept_until(record) - ts
end
return remaining and struct.pack('<Bdd', @BUSY@, ts, remaining) or struct.pack('<Bd', @MORE@, ts)
