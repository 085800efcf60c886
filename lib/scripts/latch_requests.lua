-- Requests of a latch that were carried out.

local function was_seen(key, request)
  return redis.call('ZSCORE', key, request) and true or false
end

-- Remembers a request, so that it counts once however often it is repeated, also when the latch has been set again meanwhile.
-- What forgets goes first: it is allowed when memory is full, and a script that has written may go on writing.
local function remember(key, request, ts, time)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', ts))
  redis.call('ZADD', key, string.format('%.0f', ts + time), request)
  local ms = math.ceil(time / 1000)
  if redis.call('PTTL', key) < ms then
    redis.call('PEXPIRE', key, ms)
  end
end
