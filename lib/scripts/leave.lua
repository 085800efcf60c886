-- Leave: release, cancel and give-back in one, of one name or several. Ours: serve the waiters, or delete the record. Queued,
-- with this epoch or an older one: out of the queue. Safe to repeat. What is plainly held is left by release.lua for less.
--
-- KEYS  record, fence, queue, members of each name in turn, all in one slot where the server is a cluster
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

-- The usual case: a lock that was held alone goes to the first in line, who wants it alone, under the next fence of its range.
-- What is not so, or not sound, is left to the rest.
local request, inbox, mark = ARGV[1], ARGV[2], ARGV[3]
local usual = #KEYS >= 4 and #ARGV == 3 and #mark == @MARK_SIZE@ and #request == 48
local line = usual and redis.pcall('HGET', KEYS[3], '') or ''
local record = #line == @LINE_SIZE@ and redis.pcall('GET', KEYS[1]) or ''
if #record >= @HEADER_SIZE@ then
  local kind, claim, _, flags, given = struct.unpack('<Bc30dBd', request)
  local begin, _, holder, fence, _, last, until_, _, _, from, held_delay = struct.unpack('<c2Bc30ddddHHc30d', record)
  local head, tail, stands = struct.unpack('@LINE@', line)
  local time = redis.call('TIME')
  local ts = time[1] * 1000000 + time[2]
  local to, epoch, grant, delay, secret, info
  local publish = inbox:sub(-2) == '}:' and redis.REDIS_VERSION_NUM and 'SPUBLISH' or 'PUBLISH'
  local key, place, waits = KEYS[1], struct.pack('<d', head), head + 1 < tail and 1 or 0
  if kind == @LOCK@ and flags == 0 and begin == '\@VERSION@\@LOCK@' and holder == claim and claim:byte() > 0
    and fence >= 0 and fence <= given and given < last and last <= @MOST_FENCE@ and until_ >= ts and held_delay >= 0
    and head >= 0 and head < tail and stands >= 0 and until_ + held_delay + tail + stands < @LARGEST@
    and fence % 1 + given % 1 + last % 1 + until_ % 1 + held_delay % 1 + head % 1 + tail % 1 + stands % 1 == 0 then
    local found = redis.pcall('HMGET', KEYS[3], place, struct.pack('<d', head + 1))
    local entry, behind = found[1] or '', found[2] or ''
    if #entry >= @ENTRY_SIZE@ then
      local claimed, lease, its_delay, permits, limit, _, size, _, its_secret = struct.unpack('@ENTRY@', entry)
      epoch = struct.unpack('<d', claimed, @CLIENT_SIZE@ + 1)
      if permits == 1 and limit == 0 and size == 0 and epoch >= 0 and lease >= 0 and its_delay >= 0
        and epoch + lease + its_delay < @LARGEST@ and epoch % 1 + lease % 1 + its_delay % 1 == 0 then
        to, grant, delay, secret, info = claimed, lease, its_delay, its_secret, entry:sub(@ENTRY_SIZE@ + 1)
      end
    end
    -- The one behind is told before anything is written: where it does not hear, the rest has to look for another.
    if to and waits == 1 then
      redis.set_repl(redis.REPL_NONE)
      local listeners = #behind >= @ENTRY_SIZE@ and struct.unpack('<d', behind, @LIMIT_OFFSET@ + 1) == 0
        and redis.pcall(publish, inbox .. behind:sub(1, @CLIENT_SIZE@),
          struct.pack('<BBc8dd', @NEXT@, @LOCK@, behind:sub(@CLIENT_SIZE@ + 1), ts, grant + delay) .. key)
      redis.set_repl(redis.REPL_ALL)
      to = (tonumber(listeners) or 0) > 0 and to
    end
  end
  local client = to and to:sub(1, @CLIENT_SIZE@)
  local fine = to and tonumber(waits == 0 and redis.pcall('DEL', KEYS[3]) or redis.pcall('HDEL', KEYS[3], place, client))
    and (waits == 0 or tonumber(redis.pcall('HSET', KEYS[3], '', struct.pack('@LINE@', head + 1, tail, stands))))
    and redis.pcall('SET', key, struct.pack('<c2Bc30ddddHHc30dc0', begin, waits, to, given + 1, ts, last, ts + grant, 1, 0,
      claim, delay, info), 'PX', string.format('%d', math.ceil((grant + delay) / 1000) + @SWEEP_MS@)).ok
  if fine then
    local message = struct.pack('<BBdddddB', @GRANT@, @LOCK@, epoch, ts, given + 1, last, grant, waits)
    local mac = redis.sha1hex(secret .. redis.sha1hex(secret .. client .. message .. key))
    redis.set_repl(redis.REPL_NONE)
    local listeners = tonumber(redis.pcall(publish, inbox .. client, message .. mac .. key)) or 0
    local settled = from:sub(1, @CLIENT_SIZE@)
    if listeners > 0 and from:byte() > 0 and settled ~= client then
      redis.pcall(publish, inbox .. settled, struct.pack('<BBc8d', @SETTLED@, @LOCK@, from:sub(@CLIENT_SIZE@ + 1), ts) .. key)
    end
    redis.set_repl(redis.REPL_ALL)
    if listeners > 0 then
      return struct.pack('<Bdd', @LEFT@, ts, grant + delay) .. mark
    end
    redis.pcall('SET', key, record, 'PX', string.format('%d', math.ceil((until_ + held_delay - ts) / 1000) + @SWEEP_MS@))
  end
end

-- Else

-- with: calls foreign record fences messages holder queue members serve

local OK, NOT_OURS, MORE = @LEFT@, @NOT_OURS@, @LEFT_MORE@
local ROW, ROW_SIZE, COLUMNS = '<c30dBd', 47, 4
local anybodys = '@ANYBODY@'

check_call(#ARGV == 2 and #ARGV[1] > 1 and #ARGV[1] % ROW_SIZE == 1)
local count, kind = (#request - 1) / ROW_SIZE, request:byte()
check_call(count <= @MOST_NAMES@ and #KEYS >= count * 4 and is_kind(kind))
local rows = { struct.unpack(ROW:rep(count), request, 2) }
local ts = now()

-- Whether it is ours alone, nobody waits and nobody looks after it.
local begin = string.char(@VERSION@, @LOCK@, 0)
local function is_plain(record, claim)
  if not record or #record < @HEADER_SIZE@ or record:sub(1, 3) ~= begin or not is_claim(record, claim) then
    return false
  end
  local fence, since, last, until_, _, _, from, delay = struct.unpack('@AFTER_CLAIM@', record, @FENCE_OFFSET@ + 1)
  return from == '@NOBODY@' and are_sound(fence, since, last, until_, delay)
end

local names, taken = {}, {}
for index = 1, count do
  local at, row = index * 4 - 3, index * COLUMNS - COLUMNS
  local name = { at = at, claim = rows[row + 1], highest = rows[row + 2], lost = rows[row + 3] % 2 == 1,
    parting = rows[row + 3] >= 2, given = rows[row + 4] }
  check_call(not taken[KEYS[at]] and name.claim:byte() > 0 and sound(name.highest) and sound(name.given))
  name.record = redis.call('GET', KEYS[at])
  name.plain = kind == @LOCK@ and not name.lost and is_plain(name.record, name.claim)
  names[index], taken[KEYS[at]] = name, true
end

-- The fences that a holder who was alone leaves to the next; or how many to reserve, where it has used them all up.
local function handed_on(name)
  local fence, _, last, until_ = struct.unpack('<dddd', name.record, @FENCE_OFFSET@ + 1)
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
    name.who = kind == @SEMAPHORE@ and name.claim or name.claim:sub(1, @CLIENT_SIZE@)
    name.queue = queue_at(KEYS[name.at + 2], name.who)
    name.delay = name.ours and name.lost and kept_until(record) - expires(record) or 0
    name.joint = record and is_joint(record)
    name.is_free = not name.joint and ((name.ours and name.delay == 0) or not record or kept_until(record) < ts)
    name.handed = name.ours and name.is_free and handed_on(name)
    -- Of one name, serve reads what it needs before it writes, and the next often needs no more than a fence of the range.
    if name.joint or count > 1 then
      name.members = members(KEYS, name.at, ts)
    end
    if count > 1 or name.joint or (name.is_free and not (name.handed and name.handed.next)) then
      above[key] = highest_fence(KEYS, name.at, math.max(above[key] or 0, name.highest))
    end
  end
end

-- Takes a member out of what several hold; one that is lost is none any more, but keeps its place until its lock-delay has
-- passed.
local function part(name, hand, epoch)
  local who = name.who
  hand.joint = hand.members.read(name.record)
  local member = hand.members.find(who)
  local ours = member and member.epoch == epoch
  if ours and (not name.lost or member.delay == 0) then
    hand.members.drop(hand.joint, member.seat)
  elseif ours and member.expires > 0 then
    hand.members.lose(hand.joint, member)
  end
  hand.joint = hand.members.sweep(hand.joint)
  return ours
end

local function leave(name)
  local at, record, ours = name.at, name.record, name.ours
  local epoch, queue = epoch_of(name.claim), name.queue
  local joint, key = name.joint, KEYS[at + 1]
  local hand = { from = not name.parting and name.claim or nil, handed = name.handed or nil, highest = above[key],
    seen = name.highest, lookers = name.parting and @LOOKERS@ or nil, members = name.members, queue = queue }
  local waited, was_head = queue.entry and epoch_of(queue.entry) <= epoch, false
  if waited then
    was_head = queue.place == queue.head
    remove(queue, queue.place)
  end
  -- Who is lost is no holder any more, though this clock step back; but nobody else becomes one before its lock-delay has
  -- passed.
  if ours and name.delay > 0 and not name.is_free and expires(record) > 0 then
    was_head = was_head or expires(record) >= ts
    local until_ = expires(record) >= ts and ts + name.delay or kept_until(record)
    prolong(KEYS[at], ts, until_, struct.pack('<d', 0), @EXPIRES_OFFSET@)
    redis.call('SETRANGE', KEYS[at], @DELAY_OFFSET@, struct.pack('<d', until_))
    record = redis.call('GET', KEYS[at])
  end
  if joint then
    ours = part(name, hand, epoch)
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
      leave_handoff_to(KEYS[at], anybodys)
    elseif whom == 'stands' and joint and record:sub(@FROM_OFFSET@ + 1, @DELAY_OFFSET@) == anybodys then -- takes that over, too
      local nobody = '@NOBODY@' -- settles what several were given
      leave_handoff_to(KEYS[at], nobody)
      hand.lease = math.max(hand.lease, math.min(hand.members.look_in(hand.joint), @SILENT@))
    end
  else
    local from = record:sub(@FROM_OFFSET@ + 1, @DELAY_OFFSET@)
    local looks_after = from == name.claim
    if from == anybodys and not name.parting then -- takes over what nobody looks after
      leave_handoff_to(KEYS[at], name.claim)
      looks_after = true
    end
    -- Any waiter polls by then: a clock that stepped back puts nothing off for longer.
    hand.lease = looks_after and not name.parting and math.max(0, math.min(kept_until(record) - ts, @SILENT@)) or 0
    if looks_after and name.parting then
      leave_handoff_to(KEYS[at], anybodys)
    end
    if was_head or (name.parting and (looks_after or waited)) then
      tell_next(queue, KEYS[at], inbox, ts, kept_until(record) - ts, hand.lookers)
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
