-- Leave: release, cancel and give-back in one, of one name or several. Ours: serve the waiters, or delete the record. Queued,
-- with this epoch or an older one: out of the queue. Safe to repeat. What is plainly held is left by release.lua for less.
--
-- KEYS  record, fence, queue, waiters, ends of each name in turn, all in one slot where the server is a cluster
-- ARGV  1 packed: kind; then for each name in turn, at most 256, as ROW: claim, highest fence seen, flags (1, lost: whoever had
--         it was told that it is lost: its lock-delay begins, if it has one; 2, parting: the client ends, and looks after no
--         handoff), the latest fence of the grant's range that its client has given to a holder (0: it cannot say that nobody
--         else has a later one)
--       2 prefix of inboxes
-- Replies, packed, for each name in turn: code, server time, grant lease
--   1 ok (it was ours)   2 not ours   3 more (as ok or not ours, but call again at once: waiters are still to be served)
--   grant lease: the longest of a handoff, of a lock with its lock-delay: leave again when it has ended, unless settled
--   comes first (0 = none). Whoever parts need not: it leaves once more instead, as soon as it ends, and several waiters are
--   told to look
-- Messages: grant and next to waiters, settled to who had handed it on.
-- with: calls layout record fences messages holder queue members serve

local OK, NOT_OURS, MORE = @LEFT@, @NOT_OURS@, @LEFT_MORE@
local ROW, ROW_SIZE, COLUMNS = '<c30dBd', 47, 4

check_call(#ARGV == 2 and #ARGV[1] > 1 and #ARGV[1] % ROW_SIZE == 1)
local request, inbox = ARGV[1], ARGV[2]
local count, kind = (#request - 1) / ROW_SIZE, request:byte()
check_call(count <= @MOST_NAMES@ and #KEYS >= count * 5 and is_kind(kind))
local rows = { struct.unpack(ROW:rep(count), request, 2) }
local ts = now()

-- Whether it is ours alone, nobody waits and nobody looks after it.
local begin = string.char(VERSION, LOCK, 0)
local function is_plain(record, claim)
  if not record or #record < HEADER_SIZE or record:sub(1, 3) ~= begin or not is_claim(record, claim) then
    return false
  end
  local fence, since, last, until_, _, _, from, delay = struct.unpack(AFTER_CLAIM, record, FENCE_OFFSET + 1)
  return from == NOBODY and are_sound(fence, since, last, until_, delay)
end

local names, taken = {}, {}
for index = 1, count do
  local at, row = index * 5 - 4, index * COLUMNS - COLUMNS
  local name = { at = at, claim = rows[row + 1], highest = rows[row + 2], lost = rows[row + 3] % 2 == 1,
    parting = rows[row + 3] >= 2, given = rows[row + 4] }
  check_call(not taken[KEYS[at]] and name.claim ~= NOBODY and sound(name.highest) and sound(name.given))
  name.record = redis.call('GET', KEYS[at])
  name.plain = kind == LOCK and not name.lost and is_plain(name.record, name.claim)
  names[index], taken[KEYS[at]] = name, true
end

-- The fences that a holder who was alone leaves to the next; or how many to reserve, where it has used them all up.
local function handed_on(name)
  local fence, _, last, until_ = struct.unpack('<dddd', name.record, FENCE_OFFSET + 1)
  if name.given < fence or name.given > last or until_ < ts then
    return nil
  end
  return name.given < last and { next = name.given + 1, last = last } or { range = @NEXT_RANGE@ }
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
    name.joint = record and is_joint(record)
    name.is_free = not name.joint and ((name.ours and name.delay == 0) or not record or kept_until(record) < ts)
    name.handed = name.ours and name.is_free and handed_on(name)
    -- Of one name, serve reads what it needs before it writes, and the next often needs no more than a fence of the range.
    if count > 1 or not name.handed or not name.handed.next then
      check_types(KEYS, name.at)
      if name.is_free or name.joint then
        above[key] = highest_fence(KEYS, name.at, math.max(above[key] or 0, name.highest))
      end
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
  local who = kind == SEMAPHORE and name.claim or name.claim:sub(1, 22)
  local joint, key = name.joint, KEYS[at + 1]
  local hand = { from = not name.parting and name.claim or nil, handed = name.handed or nil, highest = above[key],
    seen = name.highest, lookers = name.parting and @LOOKERS@ or nil }
  local entry = entry_of(KEYS[at + 3], who)
  local waited, was_head = false, false
  if entry and epoch_of(entry) <= epoch then
    waited = true
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
    above[key] = hand.highest or above[key]
    if ours and not joint then
      tell_settled(KEYS[at], record, inbox, ts, hand.to)
    end
    if whom == 'more' then
      return struct.pack('<Bdd', MORE, ts, 0)
    elseif whom == 'stands' and name.parting then
      leave_to_anybody(KEYS[at])
    end
  else
    local looks_after = record:sub(FROM_OFFSET + 1, DELAY_OFFSET) == name.claim
    hand.lease = looks_after and not name.parting and math.max(0, kept_until(record) - ts) or 0
    if looks_after and name.parting then
      leave_to_anybody(KEYS[at])
    end
    if was_head or (name.parting and (looks_after or waited)) then
      tell_next(KEYS, at, inbox, ts, kept_until(record) - ts, hand.lookers)
    end
  end
  return struct.pack('<Bdd', ours and OK or NOT_OURS, ts, hand.lease or 0)
end

local replies = {}
for index, name in ipairs(names) do
  if name.plain then
    redis.call('DEL', KEYS[name.at])
  end
  replies[index] = name.plain and struct.pack('<Bdd', OK, ts, 0) or leave(name)
end
return table.concat(replies)
