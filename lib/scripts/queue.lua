-- The waiters of a name: the hash `w`, as README.md has it. queue: key; head, tail and stands, as the field '' says; place and
-- entry of the caller, if it waits; what was read of the places; and how many this call may still pass over in vain (budget).

-- Whose an entry is: a client's, or a claim's where it wants permits.
local function who_of(entry)
  return entry:sub(1, struct.unpack('<d', entry, @LIMIT_OFFSET@ + 1) > 0 and @CLAIM_SIZE@ or @CLIENT_SIZE@)
end

-- What a place has: an entry, or false. The place behind it is read, too, as it is often asked for next.
local function entry_at(queue, place)
  local read = queue.read
  if read[place] == nil then
    local both = redis.call('HMGET', queue.key, struct.pack('<d', place), struct.pack('<d', place + 1))
    read[place], read[place + 1] = both[1], both[2]
  end
  return read[place]
end

-- Whether an entry can be read, and is one of this kind of queue. What cannot be read counts as gone.
local function is_readable(queue, entry)
  if #entry < @ENTRY_SIZE@ then
    return false
  end
  local epoch, grant, delay, permits, limit, _, size = struct.unpack('<ddddddH', entry, @CLIENT_SIZE@ + 1)
  if queue.is_latch ~= (permits == @NO_PERMITS@) then
    return false
  end
  return are_sound(epoch, grant, delay, queue.is_latch and 0 or permits, limit) and #entry >= @ENTRY_SIZE@ + size
end

-- The queue at a key. Nobody waits where it ends at its head. With the place and the entry of `who`, if it waits.
local function queue_at(key, who, is_latch)
  local queue = { key = key, is_latch = is_latch or false, head = 0, tail = 0, stands = 0, budget = @SKIPS@, read = {} }
  local found = redis.call('HMGET', key, '', who or '')
  if found[1] and #found[1] == @LINE_SIZE@ then
    local head, tail, stands = struct.unpack('@LINE@', found[1])
    if are_sound(head, tail, stands, 0, 0) and head < tail then
      queue.head, queue.tail, queue.stands = head, tail, stands
    end
  end
  if who and found[2] and #found[2] == 8 then
    local place = struct.unpack('<d', found[2])
    local entry = place >= queue.head and place < queue.tail and entry_at(queue, place)
    if entry and is_readable(queue, entry) and who_of(entry) == who then
      queue.place, queue.entry = place, entry
    end
  end
  return queue
end

-- Passes the holes at the head, as many as the budget allows; all at once if nobody is left. The hash goes with its last waiter.
local function pass_holes(queue)
  while queue.head < queue.tail and queue.budget > 0 and not entry_at(queue, queue.head) do
    local empty = not queue.counted and redis.call('HLEN', queue.key) == 1
    queue.head, queue.moved, queue.counted = empty and queue.tail or queue.head + 1, true, true
    queue.budget = queue.budget - 1
  end
  if queue.moved and queue.head == queue.tail then
    redis.call('DEL', queue.key)
    queue.moved = false
  end
end

-- Takes out the waiter at a place that was read.
local function remove(queue, place)
  local entry, number = queue.read[place], struct.pack('<d', place)
  queue.read[place] = false
  if place == queue.place then
    queue.place, queue.entry = nil, nil
  end
  if place > queue.head or place + 1 < queue.tail then
    redis.call('HDEL', queue.key, number, #entry >= @ENTRY_SIZE@ and who_of(entry) or number)
  end
  if place == queue.head then
    queue.head, queue.moved, queue.counted = place + 1, true, false
    pass_holes(queue)
  end
end

-- Writes where the head is by now.
local function save(queue)
  if queue.moved then
    redis.call('HSET', queue.key, '', struct.pack('@LINE@', queue.head, queue.tail, queue.stands))
    queue.moved = false
  end
end

-- Whether anybody waits; or may, where the budget does not tell.
local function anybody(queue)
  pass_holes(queue)
  return queue.head < queue.tail
end

-- The entry of the first waiter at a place or behind it, and its place; nil where there is none, or none within the budget.
local function next_of(queue, place)
  pass_holes(queue)
  place = math.max(place, queue.head)
  while place < queue.tail and queue.budget > 0 do
    local entry = entry_at(queue, place)
    if entry and is_readable(queue, entry) then
      return entry, place
    end
    queue.budget = queue.budget - 1
    if entry then
      remove(queue, place)
    end
    place = math.max(place + 1, queue.head)
  end
end

-- Tells a waiter to look again in `wait` microseconds. Returns whether anybody listens.
local function tell_look(key, inbox, ts, entry, wait)
  local who = who_of(entry)
  local kind = #who == @CLAIM_SIZE@ and @SEMAPHORE@ or @LOCK@
  return tell(inbox, who, struct.pack('<BBddd', @NEXT@, kind, epoch_of(entry), ts, wait) .. key) > 0
end

-- Tells the first waiter to look again in `wait` microseconds, or the first `most`, one shortly after the other; drops those
-- that nobody listens for. One of these may listen at another node of a cluster, as its slot was there: it is to come back at
-- once. Ends what a verb does to the queue.
local function tell_next(queue, key, inbox, ts, wait, most)
  local told, entry, place = 0, nil, queue.head
  while told < (most or 1) do
    entry, place = next_of(queue, place)
    if not entry then
      break
    elseif tell_look(key, inbox, ts, entry, wait + told * @STAGGER_US@) then
      told = told + 1
    else
      tell_look(key, inbox, ts, entry, 0)
      queue.budget = queue.budget - 1
      remove(queue, place)
    end
    place = place + 1
  end
  save(queue)
end
