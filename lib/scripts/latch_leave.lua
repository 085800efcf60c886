-- Leave: take a waiter with this epoch, or an older one of its client's, out of a latch's queue. Safe to repeat.
--
-- KEYS  record, fence, queue, waiters, seen
-- ARGV  1 claim (30 bytes)
-- Reply, packed: 2 (as leave says it: there was nothing to own), server time
-- with: calls layout messages latch latch_waiters

local NOT_OURS = @NOT_OURS@

check_call(#KEYS >= 5 and #ARGV == 1 and #ARGV[1] == CLAIM_SIZE)
local client, epoch = ARGV[1]:sub(1, CLIENT_SIZE), epoch_of(ARGV[1]:sub(CLIENT_SIZE + 1))
check_call(sound(epoch))
local entry = entry_of_waiter(KEYS[4], client)
if entry and epoch_of(entry) <= epoch then
  redis.call('ZREM', KEYS[3], client)
  redis.call('HDEL', KEYS[4], client)
end
return struct.pack('<Bd', NOT_OURS, now())
