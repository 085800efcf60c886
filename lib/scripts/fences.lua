-- The fences of a slot.

-- Ends the verb over what stands for a fence, before anything is written.
local function refuse_fence(key)
  error(redis.error_reply('BELAYTYPE key ' .. key .. ' does not hold a fence that a higher one may follow: delete it, and '
    .. 'restart clients that have seen that fence'))
end

-- What a fence's key holds.
local function fence_in(key, stored)
  local fence = #stored == 8 and struct.unpack('<d', stored)
  if not fence or not (fence >= 0 and fence <= @MOST_FENCE@ and fence % 1 == 0) then
    refuse_fence(key)
  end
  return fence
end

-- The highest fence of the slot; 0 where there is none.
local function stored_fence(keys, at)
  local stored = redis.call('GET', keys[at + 1])
  return stored and fence_in(keys[at + 1], stored) or 0
end

-- That, or what the client has seen, if that is higher: for a verb to begin with, as others may follow it.
local function highest_fence(keys, at, seen)
  local stored = redis.call('GET', keys[at + 1])
  local highest = stored and math.max(fence_in(keys[at + 1], stored), seen) or seen
  if highest > @LAST_FOLLOWED@ then
    refuse_fence(keys[at + 1])
  end
  return highest
end

-- Makes a fence, and reserves `range` more. Returns it and the end of its range.
local function new_fence(keys, at, ts, highest, range)
  local fence = math.max(highest + 1, ts)
  redis.call('SET', keys[at + 1], struct.pack('<d', fence + range))
  return fence, fence + range
end
