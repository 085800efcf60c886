-- Leave: release, cancel and give-back in one, of one name or several. Ours: serve the waiters, or delete the record. Queued,
-- with this epoch or an older one: out of the queue. Safe to repeat.
--
-- KEYS  record, fence, queue, waiters, ends of each name in turn, all in one slot where the server is a cluster
-- ARGV  one a name, at most 256, packed: claim (30 bytes), highest fence seen, kind, lost (1: whoever had it was told that it is
--         lost: its lock-delay begins, if it has one)
--       the last: prefix of inboxes
-- Replies, packed, for each name in turn: code, server time, grant lease
--   1 ok (it was ours)   2 not ours   3 more (as ok or not ours, but call again at once: waiters are still to be served)
--   grant lease: of a handoff: leave again when it has ended, unless settled comes first (0 = none)
-- Messages: grant and next to waiters, settled to who had handed it on.
local OK, NOT_OURS, MORE = 1, 2, 3
local MOST = 256

check_call(#ARGV >= 2 and #ARGV - 1 <= MOST and #KEYS >= (#ARGV - 1) * 5)
local inbox = ARGV[#ARGV]
local names, keys, taken = {}, {}, {}
for index = 1, #ARGV - 1 do
  local at = (index - 1) * 5 + 1
  check_call(#ARGV[index] == 40 and not taken[KEYS[at]])
  local claim, highest, kind, lost = struct.unpack('<c30dBB', ARGV[index])
  check_call(claim:byte() ~= 0 and sound(highest) and is_kind(kind))
  names[index] = { at = at, claim = claim, highest = highest, kind = kind, lost = lost == 1 }
  keys[index], taken[KEYS[at]] = KEYS[at], true
end

local plain = true
local records = #keys > 1 and redis.call('MGET', unpack(keys)) or {}
local unwaited = string.char(VERSION, LOCK, 0)
for index, name in ipairs(names) do
  local record, claim = records[index] or redis.call('GET', KEYS[name.at]), name.claim -- MGET passes over other types
  name.record = record
  name.plain = record and not name.lost and #record >= HEADER_SIZE and record:sub(1, 33) == unwaited .. claim
    and is_record(record)
  plain = plain and name.plain
end
local ts = now()

-- What is ours alone, nobody waits for and is deleted.
local left = struct.pack('<Bdd', OK, ts, 0)
local function freed(name)
  tell_settled(KEYS[name.at], name.record, inbox, ts)
  return left
end

local function leave_all(leave_one)
  local replies = {}
  for index, name in ipairs(names) do
    replies[index] = leave_one(name)
  end
  return table.concat(replies)
end

if plain then
  redis.call('DEL', unpack(keys))
  return leave_all(freed)
end

-- Rarely

-- Whatever cannot be read is found before anything is written.
local above = {} -- the highest fence, by its key: names of one slot share it
for _, name in ipairs(names) do
  if not name.plain then
    local record, key = name.record, KEYS[name.at + 1]
    local problem = unreadable(record, KEYS[name.at])
    if problem then
      return problem
    end
    name.ours = record and is_claim(record, name.claim)
    name.delay = name.ours and name.lost and kept_until(record) - expires(record) or 0
    check_types(KEYS, name.at)
    name.joint = record and is_joint(record)
    name.is_free = not name.joint and ((name.ours and name.delay == 0) or not record or kept_until(record) < ts)
    if name.is_free or name.joint then
      above[key] = highest_fence(KEYS, name.at, math.max(above[key] or 0, name.highest))
    end
  end
end

-- Takes a member out of what several hold; one that is lost is none any more, but keeps its place until its lock-delay has
-- passed.
local function part(name, hand, who, epoch)
  hand.members = members(KEYS, name.at, ts)
  hand.joint = hand.members.read(name.record)
  local member = hand.members.find(who)
  local ours = member and member.epoch == epoch
  if ours and (not name.lost or member.delay == 0) then
    hand.members.drop(hand.joint, who, member.permits)
  elseif ours and member.expires > 0 then
    local info = hand.members.info(who)
    member.delay = member.expires >= ts and ts + member.delay or member.expires + member.delay
    member.expires, member.holds, member.local_waiters = 0, 0, 0
    hand.members.write(hand.joint, who, member, info)
  end
  hand.joint = hand.members.sweep(hand.joint)
  return ours
end

local function leave(name)
  local at, record, ours = name.at, name.record, name.ours
  local epoch = epoch_of(name.claim:sub(23))
  local who = name.kind == SEMAPHORE and name.claim or name.claim:sub(1, 22)
  local joint, key = name.joint, KEYS[at + 1]
  local hand = { from = name.claim, highest = above[key] }
  local entry = entry_of(KEYS[at + 3], who)
  local was_head = false
  if entry and epoch_of(entry) <= epoch then
    was_head = redis.call('ZRANK', KEYS[at + 2], who) == 0
    redis.call('ZREM', KEYS[at + 2], who)
    redis.call('HDEL', KEYS[at + 3], who)
  end
  -- Who is lost is no holder any more, though this clock step back; but nobody else becomes one before its lock-delay has
  -- passed.
  if ours and name.delay > 0 and not name.is_free and expires(record) > 0 then
    was_head = was_head or expires(record) >= ts
    local until_ = expires(record) >= ts and ts + name.delay or kept_until(record)
    prolong(KEYS[at], ts, until_, struct.pack('<d', 0), EXPIRES_OFFSET)
    redis.call('SETRANGE', KEYS[at], DELAY_OFFSET, struct.pack('<d', until_))
    record = redis.call('GET', KEYS[at])
  end
  if joint then
    ours = part(name, hand, who, epoch)
  end
  if name.is_free or joint then
    local whom = serve(KEYS, at, inbox, ts, hand)
    above[key] = hand.highest
    if ours and not joint then
      tell_settled(KEYS[at], record, inbox, ts, hand.to)
    end
    if whom == 'more' then
      return struct.pack('<Bdd', MORE, ts, 0)
    end
  elseif was_head then
    tell_next(KEYS, at, inbox, ts, kept_until(record) - ts)
  end
  return struct.pack('<Bdd', ours and OK or NOT_OURS, ts, hand.lease or 0)
end

return leave_all(function(name)
  if name.plain then
    redis.call('DEL', KEYS[name.at])
    return freed(name)
  end
  return leave(name)
end)
