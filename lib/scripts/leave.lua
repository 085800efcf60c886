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
local claims, keys, taken = {}, {}, {}
local plain = true
for index = 1, #ARGV - 1 do
  local key, request = KEYS[index * 5 - 4], ARGV[index]
  check_call(#request == 40 and not taken[key])
  local claim, highest, kind, is_lost = struct.unpack('<c30dBB', request)
  check_call(claim:byte() ~= 0 and sound(highest) and (kind == LOCK or kind == SEMAPHORE))
  claims[index], keys[index], taken[key] = claim, key, true
  plain = plain and is_lost ~= 1
end

-- Whether it is ours alone, nobody waits and nobody looks after it.
local function is_plain(record, claim)
  if not record or #record < HEADER_SIZE then
    return false
  end
  local version, kind, waits, holder, fence, since, last, until_, _, _, from, delay = struct.unpack(HEADER, record)
  return version == VERSION and kind == LOCK and waits == 0 and holder == claim and from == NOBODY
    and are_sound(fence, since, last, until_, delay)
end

local records = #keys > 1 and redis.call('MGET', unpack(keys)) or { redis.call('GET', keys[1]) }
for index, claim in ipairs(claims) do
  plain = plain and is_plain(records[index], claim)
end
local ts = now()
local left = struct.pack('<Bdd', OK, ts, 0)
if plain then
  redis.call('DEL', unpack(keys))
  return left:rep(#keys)
end

-- Rarely

local names = {}
for index, claim in ipairs(claims) do
  local _, highest, kind, is_lost = struct.unpack('<c30dBB', ARGV[index])
  local name = { at = index * 5 - 4, claim = claim, highest = highest, kind = kind, lost = is_lost == 1 }
  name.record = records[index] or redis.call('GET', KEYS[name.at]) -- MGET passes over other types
  name.plain = not name.lost and is_plain(name.record, claim)
  names[index] = name
end

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

local replies = {}
for index, name in ipairs(names) do
  if name.plain then
    redis.call('DEL', KEYS[name.at])
  end
  replies[index] = name.plain and left or leave(name)
end
return table.concat(replies)
