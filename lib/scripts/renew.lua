-- Renew: confirm, prolong and verify many claims at once. Extends only what is ours, never shortens, never re-creates.
-- Safe to repeat.
--
-- KEYS  record, fence, queue, members of each claim in turn
-- ARGV  1 prefix of inboxes   2 packed: highest fence seen, not-after us (do nothing beyond that time)
--       3 and on, one a claim, packed: claim (30 bytes), lease us (0 = only look), fence of the grant, how many more
--         fences to reserve, holds, local waiters, kind; for a downgrade also: the fence that a holder who is alone has by
--         now, and the group that it shares it with from now on
-- Reply: server time (packed double), then for each claim, packed: code, end of the fence range, somebody waits (0, 1)
--   1 ok   2 not ours   3 the record cannot be read (another kind or version)
-- or for all at once, packed: 4 late, server time
-- Messages: next to the first waiter; settled to who handed it on; grant where a lapsed record was found.
-- with: calls foreign record fences messages holder queue members serve

local OK, NOT_OURS, UNREADABLE = @RENEWED@, @NOT_OURS@, @UNREADABLE@

check_call(#ARGV >= 2 and #KEYS >= (#ARGV - 2) * 4 and #ARGV[2] == 16)
local inbox = ARGV[1]
local highest, not_after = struct.unpack('<dd', ARGV[2])
check_call(sound(highest))
local ts = now()

local function reserve(at, last)
  if last > @LAST_FOLLOWED@ then
    refuse_fence(KEYS[at + 1])
  end
  if stored_fence(KEYS, at) < last then
    redis.call('SET', KEYS[at + 1], struct.pack('<d', last))
  end
end

-- A foreign key beside the record must not cost its holder, or others, the renewal.
local function serve_others(at, hand)
  local fine, above = pcall(highest_fence, KEYS, at, hand.joint and 0 or highest)
  if fine then
    hand.highest = above
    pcall(serve, KEYS, at, inbox, ts, hand)
  end
end

local function renew_member(at, record, claim, lease, fence, kind, holds, local_waiters)
  local who = kind == @SEMAPHORE@ and claim or claim:sub(1, 22)
  local hand = { members = members(KEYS, at, ts) }
  hand.joint = hand.members.read(record)
  local member = hand.members.find(who)
  local ours = member and member.epoch == epoch_of(claim) and member.fence == fence and member.expires >= ts
  if ours then
    hand.members.renew(hand.joint, member, lease, member.since, holds, local_waiters)
  end
  hand.joint = hand.members.sweep(hand.joint)
  local fine, queue = pcall(queue_at, KEYS[at + 2])
  local waits = not fine or queue.head < queue.tail
  if waits then
    serve_others(at, hand)
  elseif hand.joint then
    hand.members.say_who_waits(hand.joint, false)
  end
  return ours and OK or NOT_OURS, ours and fence or 0, ours and waits and 1 or 0
end

-- A holder who is alone becomes the first member of a group, under the fence that it has by now.
local function downgrade(at, record, claim, until_, holds, local_waiters, fence, group)
  local last = struct.unpack('<d', record, @LAST_OFFSET@ + 1)
  local hand = { members = members(KEYS, at, ts), queue = queue_at(KEYS[at + 2]) }
  reserve(at, math.max(last, fence))
  hand.joint = hand.members.begin(fence, group, 0)
  hand.members.join(hand.joint, { claim = claim, expires = until_, delay = kept_until(record) - expires(record), permits = 1,
    holds = holds, local_waiters = local_waiters, info = record:sub(@HEADER_SIZE@ + 1) }, 0)
  hand.members.say_who_waits(hand.joint, hand.queue.head < hand.queue.tail)
  serve_others(at, hand)
  return OK, fence, anybody(hand.queue) and 1 or 0
end

-- All of it or nothing: who may not write a member goes on holding it alone.
local function downgrade_or_stay(at, ...)
  local alone, stands = redis.call('GET', KEYS[at]), redis.call('PTTL', KEYS[at])
  local fine, code, last, others = pcall(downgrade, at, ...)
  if not fine then
    redis.pcall('SET', KEYS[at], alone, 'PX', math.max(1, stands))
    clear_members(KEYS[at + 3])
  end
  return fine, code, last, others
end

-- An error that says nothing about the record, such as that a right is missing, is the whole call's: it takes no name from
-- anybody.
local function unless_refused(fine, code, last, others)
  if fine then
    return code, last, others
  end
  local words = type(code) == 'table' and code.err or code
  if words:find('WRONGTYPE', 1, true) or words:find('BELAYTYPE', 1, true) then
    return UNREADABLE, 0, 0
  end
  error(code, 0)
end

-- Tells the next in line when to look. Returns whether anybody waits, and puts right what the record says of it.
local function tell_waiter(at, wait)
  local queue = queue_at(KEYS[at + 2])
  if not anybody(queue) then
    redis.call('SETRANGE', KEYS[at], @WAITS_OFFSET@, '\0')
    return 0
  end
  tell_next(queue, KEYS[at], inbox, ts, wait)
  return 1
end

local function renew(at, request)
  local claim, lease, fence, more, holds, local_waiters, kind = struct.unpack('<c30ddHHHB', request)
  local fence_of_group = #request > 53 and struct.unpack('<d', request, 54)
  local record = redis.pcall('GET', KEYS[at])
  if type(record) == 'table' then
    return unless_refused(false, record)
  elseif unreadable(record, KEYS[at], kind) then
    return UNREADABLE, 0, 0
  end
  if record and is_joint(record) then
    return unless_refused(pcall(renew_member, at, record, claim, lease, fence_of_group or fence, kind, holds, local_waiters))
  end
  if not record or expires(record) < ts then
    if not record or kept_until(record) < ts then
      serve_others(at, {})
    end
    return NOT_OURS, 0, 0
  end
  local waits, holder, first, _, last, until_ = struct.unpack('<Bc30dddd', record, @WAITS_OFFSET@ + 1)
  if holder ~= claim or first ~= fence then
    return NOT_OURS, 0, 0
  end
  until_ = math.max(until_, ts + lease)
  local delay = kept_until(record) - expires(record)
  prolong(KEYS[at], ts, until_ + delay, struct.pack('<ddHH', last, until_, holds, local_waiters), @LAST_OFFSET@)
  settle(KEYS[at], record, inbox, ts)
  if fence_of_group then
    return unless_refused(downgrade_or_stay(at, record, claim, until_, holds, local_waiters, fence_of_group, request:sub(62)))
  end
  if more > 0 and pcall(reserve, at, last + more) then
    last = last + more
    redis.call('SETRANGE', KEYS[at], @LAST_OFFSET@, struct.pack('<d', last))
  end
  if waits == 1 then
    local fine, others = pcall(tell_waiter, at, until_ + delay - ts)
    waits = fine and others or 1
  end
  return OK, last, waits
end

for index = 3, #ARGV do
  local request = ARGV[index]
  check_call((#request == 53 or #request > 61) and sound((struct.unpack('<d', request, 31))) and is_kind(request:byte(53)))
  local fence_of_group = #request > 53 and struct.unpack('<d', request, 54) or 0
  check_call(sound(fence_of_group) and fence_of_group <= @MOST_FENCE@)
end
if ts > not_after then
  return struct.pack('<Bd', @LATE@, ts)
end
local reply = { struct.pack('<d', ts) }
for index = 3, #ARGV do
  reply[#reply + 1] = struct.pack('<BdB', renew((index - 3) * 4 + 1, ARGV[index]))
end
return table.concat(reply)
