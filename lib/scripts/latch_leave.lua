-- Leave: take a waiter with this epoch, or an older one of its client's, out of a latch's queue. Safe to repeat.
--
-- KEYS  queue
-- ARGV  1 claim (30 bytes)
-- Reply, packed: 2 (as leave says it: there was nothing to own), server time
-- with: calls messages queue

check_call(#KEYS >= 1 and #ARGV == 1 and #ARGV[1] == @CLAIM_SIZE@ and sound(epoch_of(ARGV[1])))
local queue = queue_at(KEYS[1], ARGV[1]:sub(1, @CLIENT_SIZE@), true)
if queue.entry and epoch_of(queue.entry) <= epoch_of(ARGV[1]) then
  remove(queue, queue.place)
  save(queue)
end
return struct.pack('<Bd', @NOT_OURS@, now())
