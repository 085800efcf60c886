-- Many: take several locks at once, all of them or none; each that is free, or shared with the group asked for, and that nobody
-- waits for. Never waits. Safe to repeat with the same claims: it is told again, and each lease counts from the latest call.
--
-- KEYS  record, fence, queue, waiters, ends of each name in turn, all in one slot where the server is a cluster
-- ARGV  1 prefix of inboxes   2 info   3 and on, one a name, at most 256: acquire's packed argument (98 bytes; grant lease,
--         ticket and queue have no use here), then the group: who share it; '' = alone
-- Replies, packed, code and server time first:
--   1 granted   for each name in turn: fence, end of its range, somebody waits (0, 1)
--   3 busy      remaining lease us of the first name that cannot be had
--   4 late      5 stale (of one of them, this client's newer claim stands, or this one was lost and left)
--   6 more (call again at once)
-- Messages: settled to who handed on what is told again; where the queue of a free name was found: grant and next to waiters.
local GRANTED, BUSY, STALE, MORE = 1, 3, 5, 6
local MOST, PACKED_SIZE = 256, 98

check_call(#ARGV >= 3 and #ARGV - 2 <= MOST and #KEYS >= (#ARGV - 2) * 5)
local inbox, info = ARGV[1], ARGV[2]
local ts = now()
local above, fence_keys = {}, {} -- the highest fence, by its key: names of one slot share it
local names, taken, standing = {}, {}, {}
local late, alone = false, true
for index = 1, #ARGV - 2 do
  local at, request = index * 5 - 4, ARGV[index + 2]
  check_call(#request >= PACKED_SIZE)
  local claim, lease, not_after, grant, ticket, highest, _, local_waiters, kind, delay, permits, limit =
    struct.unpack('<c30dddddBHBddd', request)
  local key, fence_key, group = KEYS[at], KEYS[at + 1], request:sub(PACKED_SIZE + 1)
  check_call(claim:byte() ~= 0 and sound((struct.unpack('<d', claim, 23))) and are_sound(lease, grant, ticket, highest, delay)
    and kind == LOCK and permits == 1 and limit == 0 and #group <= LONGEST_GROUP and not taken[key])
  names[index] = { at = at, claim = claim, lease = lease, local_waiters = local_waiters, delay = delay, group = group }
  taken[key] = true
  late = late or ts > not_after
  alone = alone and group == ''
  standing[2 * index - 1], standing[2 * index] = key, KEYS[at + 2]
  if not above[fence_key] then
    fence_keys[#fence_keys + 1] = fence_key
  end
  above[fence_key] = math.max(above[fence_key] or 0, highest)
end
if late then
  return struct.pack('<Bd', LATE, ts)
end

-- Takes names that nobody has or waits for, with as few commands as will do. What one has in common with the name before it is
-- packed once.
local function take_free()
  local stored = redis.call('MGET', unpack(fence_keys))
  for index, key in ipairs(fence_keys) do
    local text = stored[index] or redis.call('GET', key) -- which fails where the key holds something else
    above[key] = text and math.max(above[key], fence_in(key, text)) or above[key]
  end
  local replies = { struct.pack('<Bd', GRANTED, ts) }
  local begin = string.char(VERSION, LOCK, 0)
  local before, fence, reply, rest, stands = {}, nil, nil, nil, nil
  for index, name in ipairs(names) do
    local key = KEYS[name.at + 1]
    local its_fence = math.max(above[key] + 1, ts)
    above[key] = its_fence + RANGE
    if its_fence ~= fence or name.lease ~= before.lease or name.delay ~= before.delay
      or name.local_waiters ~= before.local_waiters then
      before, fence = name, its_fence
      reply = struct.pack('<ddB', fence, above[key], 0)
      rest = struct.pack(AFTER_CLAIM, fence, ts, above[key], ts + name.lease, 1, name.local_waiters, NOBODY, name.delay) .. info
      stands = tostring(math.ceil((name.lease + name.delay) / 1000) + SWEEP_MS)
    end
    replies[index + 1] = reply
    redis.call('SET', KEYS[name.at], begin .. name.claim .. rest, 'PX', stands)
  end
  local highest, packed
  for _, key in ipairs(fence_keys) do
    if above[key] ~= highest then
      highest, packed = above[key], struct.pack('<d', above[key])
    end
    redis.call('SET', key, packed)
  end
  return table.concat(replies)
end

if alone and redis.call('EXISTS', unpack(standing)) == 0 then
  return take_free()
end

-- Rarely

for _, name in ipairs(names) do
  local key = KEYS[name.at + 1]
  name.record = redis.call('GET', KEYS[name.at])
  local problem = unreadable(name.record, KEYS[name.at], LOCK)
  if problem then
    return problem
  end
  name.waited_for = redis.call('EXISTS', KEYS[name.at + 2]) == 1
  above[key] = highest_fence(KEYS, name.at, above[key])
  if name.group ~= '' or name.record or name.waited_for then
    check_types(KEYS, name.at)
  end
end

-- Whether another claim of this client keeps a newer one than `epoch` from being taken, or this one was lost and left; what
-- an older one has is as good as freed, unless it was lost and its lock-delay runs. Finds out what stands: name.again,
-- name.held, name.joint.
local function look_at_own(name, client, epoch)
  local record = name.record
  local joint = record and is_joint(record)
  name.held = record and not joint and kept_until(record) >= ts
  if name.held and record:sub(4, 25) == client then
    local stands = epoch_of(record:sub(26))
    name.again = stands == epoch
    name.held = not name.again and expires(record) < ts
    return stands > epoch or (name.again and expires(record) == 0)
  end
  if not joint then
    return false
  end
  name.members = members(KEYS, name.at, ts)
  name.joint = name.members.sweep(name.members.read(record))
  local member = name.joint and name.members.find(client)
  if member and member.epoch >= epoch then
    name.again, name.member = member.epoch == epoch, member
    return member.epoch > epoch or member.expires == 0
  end
  if member and member.expires >= ts then
    name.members.drop(name.joint, client, member.permits)
    name.joint = name.members.sweep(name.joint)
  end
  return false
end

-- What keeps a name from being taken: a code, or nil. Whoever waits for what is free is served first.
local function obstacle(name)
  local client, epoch = name.claim:sub(1, 22), epoch_of(name.claim:sub(23))
  if look_at_own(name, client, epoch) then
    return STALE
  end
  if name.again then
    return nil
  end
  local entry = name.waited_for and entry_of(KEYS[name.at + 3], client)
  if entry and epoch_of(entry) >= epoch then
    return epoch_of(entry) > epoch and STALE or BUSY
  end
  if name.waited_for and not name.held then
    local hand = { joint = name.joint, members = name.members, highest = above[KEYS[name.at + 1]] }
    local whom = serve(KEYS, name.at, inbox, ts, hand, { who = client, epoch = epoch })
    name.joint, name.members = hand.joint, hand.members
    return (whom == 'none' or whom == 'more') and MORE or BUSY
  end
  local fits = not name.held and not name.waited_for
    and (not name.joint or name.members.fits(name.joint, client, name.group, 1, 0))
  return not fits and BUSY or nil
end

local function remaining(name)
  local record = redis.call('GET', KEYS[name.at])
  if name.joint then
    return name.members.look_in(name.joint, 1)
  end
  return record and math.max(0, kept_until(record) - ts) or 0
end

for _, name in ipairs(names) do
  local code = obstacle(name)
  if code then
    return struct.pack('<Bd', code, ts) .. (code == BUSY and struct.pack('<d', remaining(name)) or '')
  end
end

local function tell_again(name)
  local until_ = math.max(expires(name.record), ts + name.lease)
  prolong(KEYS[name.at], ts, until_ + name.delay, struct.pack('<d', until_), EXPIRES_OFFSET)
  settle(KEYS[name.at], name.record, inbox, ts)
  local waits, _, fence, _, last = struct.unpack('<Bc30ddd', name.record, WAITS_OFFSET + 1)
  return struct.pack('<ddB', fence, last, waits)
end

local function share(name)
  local client, member = name.claim:sub(1, 22), name.member
  local key = KEYS[name.at + 1]
  if member then
    member.expires, member.holds, member.local_waiters = math.max(member.expires, ts + name.lease), 1, name.local_waiters
    name.members.write(name.joint, client, member, info)
  else
    name.members = name.members or members(KEYS, name.at, ts)
    name.joint = name.joint or name.members.begin(new_fence(KEYS, name.at, ts, above[key], 0), name.group, 0)
    member = { epoch = epoch_of(name.claim:sub(23)), expires = ts + name.lease, delay = name.delay, permits = 1, holds = 1,
      local_waiters = name.local_waiters }
    member.fence = name.members.join(name.joint, client, member, above[key], info)
    above[key] = math.max(above[key], member.fence)
  end
  return struct.pack('<ddB', member.fence, member.fence, redis.call('EXISTS', KEYS[name.at + 2]))
end

local function take_alone(name)
  local key = KEYS[name.at + 1]
  local fence, last =
    take(KEYS, name.at, name.claim, ts, name.lease, above[key], false, name.local_waiters, name.delay, info)
  above[key] = last
  return struct.pack('<ddB', fence, last, 0)
end

local reply = { struct.pack('<Bd', GRANTED, ts) }
for _, name in ipairs(names) do
  local take_one = name.again and not name.member and tell_again or name.group ~= '' and share or take_alone
  reply[#reply + 1] = take_one(name)
end
return table.concat(reply)
