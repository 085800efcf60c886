-- Who waits for a latch.

-- Tells as many waiters as one call may that their generation has ended, and takes them out of the queue. Returns whether others
-- are left.
local function tell_waiters(queue, key, inbox, ts, generation, how)
  for _ = 1, @SKIPS@ do
    local entry = next_of(queue, queue.head)
    if not entry then
      break
    end
    remove(queue, queue.head)
    tell_surely(inbox, entry, entry:sub(@SECRET_OFFSET@ + 1, @ENTRY_SIZE@),
      struct.pack('<BBdddB', @PASSED@, @LATCH@, epoch_of(entry), ts, generation, how), key)
  end
  save(queue)
  return queue.head < queue.tail
end
