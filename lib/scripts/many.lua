-- Many: take several locks at once, all of them or none; each that is free, or shared with the group asked for, and that nobody
-- waits for. Never waits. Safe to repeat with the same claims: it is told again, and each lease counts from the latest call.
-- What is plainly free is taken by take.lua for less.
--
-- KEYS  record, fence, queue, members of each name in turn, all in one slot where the server is a cluster
-- ARGV  1 prefix of inboxes   2 info   3 packed: client id (22 bytes), not-after, lease; then for each name in turn, at most 256,
--         as ROW: epoch, highest fence seen, lock-delay, local waiters
--       4 and on, where not all are alone, for each name in turn the group: who share it; '' = alone
-- Replies, packed, code and server time first:
--   1 granted   for each name in turn: fence, end of its range, somebody waits (0, 1)
--   3 busy      remaining lease us of the first name that cannot be had
--   4 late      5 stale (of one of them, this client's newer claim stands, or this one was lost and left)
--   6 more (call again at once)
-- Messages: settled to who handed on what is told again; where the queue of a free name was found: grant and next to waiters.
-- with: calls foreign record fences messages holder queue members serve

local HEAD, HEAD_SIZE = '<c22dd', 38
local ROW, ROW_SIZE, COLUMNS = '<dddH', 26, 4

local inbox, info, request = unpack(ARGV)
check_call(#ARGV >= 3 and #request > HEAD_SIZE and (#request - HEAD_SIZE) % ROW_SIZE == 0)
local count = (#request - HEAD_SIZE) / ROW_SIZE
check_call(count <= @MOST_NAMES@ and #KEYS >= count * 4 and (#ARGV == 3 or #ARGV - 3 == count))
local client, not_after, lease = struct.unpack(HEAD, request)
check_call(client:byte() ~= 0 and sound(not_after) and sound(lease))
local ts = now()
if ts > not_after then
  return struct.pack('<Bd', @LATE@, ts)
end

local rows = { struct.unpack(ROW:rep(count), request, HEAD_SIZE + 1) }
local above, names, taken = {}, {}, {} -- the highest fence, by its key: names of one slot share it
for index = 1, count do
  local at, row = index * 4 - 3, index * COLUMNS - COLUMNS
  local name = { at = at, epoch = rows[row + 1], delay = rows[row + 3], local_waiters = rows[row + 4],
    group = ARGV[index + 3] or '' }
  check_call(not taken[KEYS[at]] and sound(name.epoch) and sound(rows[row + 2]) and sound(name.delay)
    and #name.group <= @LONGEST_GROUP@)
  names[index], taken[KEYS[at]] = name, true
  above[KEYS[at + 1]] = math.max(above[KEYS[at + 1]] or 0, rows[row + 2])
end
for _, name in ipairs(names) do
  local at = name.at
  name.record = record_at(KEYS[at], ts)
  local problem = unreadable(name.record, KEYS[at], @LOCK@)
  if problem then
    return problem
  end
  local key = KEYS[at + 1]
  above[key] = highest_fence(KEYS, at, above[key])
  name.queue = queue_at(KEYS[at + 2], client)
  name.joint = name.record and is_joint(name.record)
  if name.joint or name.group ~= '' then
    name.members = members(KEYS, at, ts)
  end
end

-- Whether another claim of this client keeps a newer one than its own from being taken, or this one was lost and left; what
-- an older one has is as good as freed, unless it has a lock-delay, as in acquire. Finds out what stands: name.again, name.held,
-- name.joint.
local function look_at_own(name)
  local record, epoch = name.record, name.epoch
  name.held = record and not name.joint and kept_until(record) >= ts
  if name.held and record:sub(4, 25) == client then
    local stands = epoch_of(record, @CLAIM_OFFSET@)
    name.again = stands == epoch
    name.held = not name.again and kept_until(record) > expires(record)
    return stands > epoch or (name.again and expires(record) == 0)
  end
  if not name.joint then
    return false
  end
  name.joint = name.members.sweep(name.members.read(record))
  local member = name.joint and name.members.find(client)
  if member and member.epoch >= epoch then
    name.again, name.member = member.epoch == epoch, member
    return member.epoch > epoch or member.expires == 0
  end
  if member and member.expires >= ts and member.delay == 0 then
    name.members.drop(name.joint, member.seat)
    name.joint = name.members.sweep(name.joint)
  end
  return false
end

-- What keeps a name from being taken: a code, or nil. Whoever waits for what is free is served first.
local function obstacle(name)
  if look_at_own(name) then
    return @STALE@
  end
  if name.again then
    return nil
  end
  local entry, waited_for = name.queue.entry, name.queue.head < name.queue.tail
  if entry and epoch_of(entry) >= name.epoch then
    return epoch_of(entry) > name.epoch and @STALE@ or @BUSY@
  end
  if waited_for and not name.held then
    local hand = { joint = name.joint, members = name.members, queue = name.queue, highest = above[KEYS[name.at + 1]] }
    local whom = serve(KEYS, name.at, inbox, ts, hand, { who = client, epoch = name.epoch })
    name.joint, name.members = hand.joint, hand.members
    return (whom == 'none' or whom == 'more') and @MORE@ or @BUSY@
  end
  local fits = not name.held and not waited_for
    and (not name.joint or name.members.fits(name.joint, client, name.group, 1, 0))
  return not fits and @BUSY@ or nil
end

local function remaining(name)
  local record = redis.call('GET', KEYS[name.at])
  if name.joint then
    return name.members.look_in(name.joint)
  end
  return record and math.max(0, kept_until(record) - ts) or 0
end

for _, name in ipairs(names) do
  local code = obstacle(name)
  if code then
    return struct.pack('<Bd', code, ts) .. (code == @BUSY@ and struct.pack('<d', remaining(name)) or '')
  end
end

local function tell_again(name)
  local until_ = math.max(expires(name.record), ts + lease)
  prolong(KEYS[name.at], ts, until_ + name.delay, struct.pack('<d', until_), @EXPIRES_OFFSET@)
  settle(KEYS[name.at], name.record, inbox, ts)
  local waits, _, fence, _, last = struct.unpack('<Bc30ddd', name.record, @WAITS_OFFSET@ + 1)
  return struct.pack('<ddB', fence, last, waits)
end

local function share(name)
  local member, key = name.member, KEYS[name.at + 1]
  if member then
    name.members.renew(name.joint, member, lease, ts, 1, 0)
  else
    name.joint = name.joint or name.members.begin(new_fence(KEYS, name.at, ts, above[key], 0), name.group, 0)
    member = { claim = client .. struct.pack('<d', name.epoch), expires = ts + lease, delay = name.delay, permits = 1,
      holds = 1, local_waiters = 0, info = info }
    member.fence = name.members.join(name.joint, member, above[key])
    above[key] = math.max(above[key], member.fence)
  end
  return struct.pack('<ddB', member.fence, member.fence, name.queue.head < name.queue.tail and 1 or 0)
end

local function take_alone(name)
  local key = KEYS[name.at + 1]
  local claim = client .. struct.pack('<d', name.epoch)
  local fence, last = take(KEYS, name.at, claim, ts, lease, above[key], false, name.local_waiters, name.delay, info)
  above[key] = last
  return struct.pack('<ddB', fence, last, 0)
end

local reply = { struct.pack('<Bd', @GRANTED@, ts) }
for _, name in ipairs(names) do
  local take_one = name.again and not name.member and tell_again or name.group ~= '' and share or take_alone
  reply[#reply + 1] = take_one(name)
end
return table.concat(reply)
