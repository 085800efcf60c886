-- Inspect: who holds a lock and who waits for it. Changes nothing.
--
-- KEYS  record, fence, queue, waiters
-- ARGV  1 how many waiters at most
-- Reply: { server time (packed double), record or "", number of waiters, then client, ticket (text), entry or "" of
--          each in order }
local most = tonumber(ARGV[1] or '')
check_call(#KEYS >= 4 and most and sound(most))
local record = redis.call('GET', KEYS[1])
local problem = unreadable(record, KEYS[1])
if problem then
  return problem
end
local reply = { struct.pack('<d', now()), record or '', redis.call('ZCARD', KEYS[3]) }
local waiting = redis.call('ZRANGE', KEYS[3], 0, most - 1, 'WITHSCORES')
for index = 1, #waiting, 2 do
  reply[#reply + 1] = waiting[index]
  reply[#reply + 1] = waiting[index + 1]
  reply[#reply + 1] = redis.call('HGET', KEYS[4], waiting[index]) or ''
end
return reply
