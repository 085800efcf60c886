-- A waiter joins the queue, or says that it still waits.

-- Lets the queue stand for longer. PEXPIRE is allowed when memory is full, and a script that has written may go on writing: so
-- waiters may poll then.
local function keep_queue(queue, ts)
  redis.call('PEXPIRE', queue.key, @QUEUE_MS@)
  queue.stands = ts + @QUEUE_US@
end

-- The place of a new waiter: that of its ticket, if nobody has it and it is not far from the line; before all others, if the line
-- has left it behind; else the last.
local function new_place(queue, ticket, ts)
  if queue.head == queue.tail then
    if redis.call('EXISTS', queue.key) == 1 then
      error(redis.error_reply('BELAYTYPE key ' .. queue.key .. ' holds a hash that is no queue of Belay'))
    end
    local first = ticket > 0 and ticket or ts
    queue.head, queue.tail, queue.stands = first, first + 1, 0
    return first
  end
  local near = ticket >= queue.head - @SKIPS@ and ticket < queue.tail + @SKIPS@
  if ticket > 0 and not (near and not entry_at(queue, ticket)) then
    ticket = ticket < queue.head and queue.head - 1 or 0
  end
  local place = ticket > 0 and ticket or queue.tail
  queue.head, queue.tail = math.min(queue.head, place), math.max(queue.tail, place + 1)
  return place
end

-- Writes an entry and returns its place.
local function join(queue, who, entry, ticket, ts)
  local place = queue.place or new_place(queue, ticket, ts)
  local soon = queue.stands < ts + @QUEUE_SOON_US@
  queue.stands = soon and ts + @QUEUE_US@ or queue.stands
  local number = struct.pack('<d', place)
  local line = struct.pack('@LINE@', queue.head, queue.tail, queue.stands)
  redis.call('HSET', queue.key, '', line, number, entry, who, number)
  if soon then
    redis.call('PEXPIRE', queue.key, @QUEUE_MS@)
  end
  queue.moved, queue.read[place] = false, entry
  return place
end
