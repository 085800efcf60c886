-- Those who hold a name together: the record says how many they are, and the sorted set `m` who, as README.md has it.

-- What members do. Made only where they are needed, as closures cost. Fails where their key holds something else, before
-- anything is written.
local function members(keys, at, ts)
  local self, key = {}, keys[at + 3]
  local is_there = redis.call('ZCARD', key) > 0

  local function text_of(number)
    return string.format('%.0f', number)
  end

  local function who_of_seat(joint, seat)
    return seat:sub(1, joint.limit > 0 and @CLAIM_SIZE@ or @CLIENT_SIZE@)
  end

  -- What several hold together, as its record says; nil where it does not stand.
  function self.read(record)
    if not record or not is_joint(record) then
      return nil
    end
    local used, limit, stands = struct.unpack('@JOINT@', record, @HEADER_SIZE@ + 1)
    local waits, _, fence = struct.unpack('<Bc30d', record, @WAITS_OFFSET@ + 1)
    return { used = used, limit = limit, stands = stands, waits = waits == 1, fence = fence,
      group = record:sub(@HEADER_SIZE@ + @JOINT_SIZE@ + 1) }
  end

  -- Begins what several will hold together. A semaphore has a limit; those who share a lock are of one group, under one fence.
  function self.begin(fence, group, limit)
    local kind, nobody = limit > 0 and @SEMAPHORE@ or @LOCK@, '@NOBODY@'
    redis.call('SET', keys[at],
      struct.pack('@HEADER@', @VERSION@, kind, 0, nobody, fence, ts, fence, 0, 0, 0, nobody, 0)
        .. struct.pack('@JOINT@', 0, limit, 0) .. group, 'PX', limit > 0 and @LIMIT_MS@ or @SWEEP_MS@)
    -- Left by a record that somebody deleted. After the SET, which is refused where memory is full unless something was written.
    redis.call('DEL', key)
    is_there = false
    return { used = 0, limit = limit, stands = 0, waits = false, fence = fence, group = group }
  end

  local function count(joint, used)
    joint.used = math.max(0, used)
    redis.call('SETRANGE', keys[at], @HEADER_SIZE@, struct.pack('<d', joint.used))
  end

  function self.set_limit(joint, limit)
    joint.limit = limit
    keep(keys[at], @LIMIT_MS@) -- first, as in prolong()
    redis.call('SETRANGE', keys[at], @HEADER_SIZE@ + 8, struct.pack('<d', limit))
  end

  -- Says in the record whether somebody waits.
  function self.say_who_waits(joint, waits)
    if waits ~= joint.waits then
      joint.waits = waits
      redis.call('SETRANGE', keys[at], @WAITS_OFFSET@, waits and '\1' or '\0')
    end
  end

  -- Lets somebody sit there until then. PEXPIRE goes first, as in prolong().
  local function sit(joint, seat, until_)
    if joint.stands < until_ + @STANDS_US@ / 2 then
      joint.stands = 2 * until_ - ts + @STANDS_US@
      redis.call('PEXPIRE', keys[at], math.ceil((joint.stands - ts) / 1000) + (joint.limit > 0 and @LIMIT_MS@ or 0))
      redis.call('SETRANGE', keys[at], @HEADER_SIZE@ + 16, struct.pack('<d', joint.stands))
    end
    local ms = math.ceil((joint.stands - ts) / 1000)
    redis.call('PEXPIRE', key, ms)
    redis.call('ZADD', key, text_of(until_), seat, text_of(-until_), who_of_seat(joint, seat))
    if not is_there then
      is_there = true
      redis.call('PEXPIRE', key, ms)
    end
  end

  -- A member; nil where there is none, or none that can be read. One that is lost has no lease, until its lock-delay has passed.
  function self.find(who)
    local score = redis.call('ZSCORE', key, who)
    local until_ = score and text_of(-score)
    for _, seat in ipairs(score and redis.call('ZRANGE', key, until_, until_, 'BYSCORE') or {}) do
      if #seat >= @MEMBER_SIZE@ and seat:sub(1, #who) == who then
        local claim, fence, since, delay, permits = struct.unpack('@MEMBER@', seat)
        local epoch = epoch_of(claim)
        return are_sound(epoch, fence, since, delay, permits) and { seat = seat, claim = claim, epoch = epoch, fence = fence,
          since = since, delay = delay, permits = permits, until_ = -score, expires = since > 0 and -score - delay or 0,
          info = seat:sub(@MEMBER_SIZE@ + 1) } or nil
      end
    end
  end

  -- Lets a member have it for a lease from now, if that is longer, and writes who has it there.
  function self.renew(joint, member, lease, since, holds, local_waiters)
    local seat = struct.pack('@MEMBER@', member.claim, member.fence, since, member.delay, member.permits, holds, local_waiters)
      .. member.info
    sit(joint, seat, math.max(member.expires, ts + lease) + member.delay)
    if seat ~= member.seat then
      redis.call('ZREM', key, member.seat)
    end
  end

  -- Adds a member: claim, expires, delay, permits, holds, local_waiters, info. Permits of a semaphore have a fence each; those
  -- who share a lock share its fence.
  function self.join(joint, member, highest)
    -- Whoever has seen a later fence than stands here comes after a loss of data.
    if joint.limit > 0 or highest > stored_fence(keys, at) then
      joint.fence = new_fence(keys, at, ts, highest, 0)
      if joint.limit == 0 then
        redis.call('SETRANGE', keys[at], @FENCE_OFFSET@, struct.pack('<d', joint.fence))
      end
    end
    local seat = struct.pack('@MEMBER@', member.claim, joint.fence, ts, member.delay, member.permits, member.holds,
      member.local_waiters) .. member.info
    sit(joint, seat, member.expires + member.delay)
    count(joint, joint.used + member.permits)
    return joint.fence
  end

  -- A member that is lost is none any more, but keeps its place until its lock-delay has passed.
  function self.lose(joint, member)
    redis.call('ZREM', key, member.seat)
    sit(joint, struct.pack('@MEMBER@', member.claim, member.fence, 0, member.delay, member.permits, 0, 0) .. member.info,
      member.expires >= ts and ts + member.delay or member.until_)
  end

  -- Frees a seat, also one that cannot be read.
  function self.drop(joint, seat)
    local permits = #seat >= @MEMBER_SIZE@ and select(5, struct.unpack('@MEMBER@', seat)) or 1
    redis.call('ZREM', key, seat, who_of_seat(joint, seat))
    count(joint, joint.used - (sound(permits) and permits or 1))
  end

  -- Drops whose leases have ended. Returns the joint hold, or nil where a lock was held by nobody else.
  function self.sweep(joint)
    local ended = redis.call('ZRANGE', key, '(0', '(' .. text_of(ts), 'BYSCORE', 'LIMIT', 0, @SKIPS@)
    for _, seat in ipairs(ended) do
      self.drop(joint, seat)
    end
    if redis.call('ZRANGE', key, '(0', '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1] then
      return joint
    end
    redis.call('DEL', key)
    is_there = false
    if joint.limit > 0 then
      if joint.used > 0 then -- some that could not be read had more than was counted
        count(joint, 0)
      end
      return joint
    end
    redis.call('DEL', keys[at])
    return nil
  end

  -- Whether there is room beside them. Who shares a lock is a member of it once: an earlier membership that was lost ends first.
  function self.fits(joint, who, group, permits, limit)
    if joint.limit > 0 then
      return limit > 0 and joint.used + permits <= joint.limit
    end
    return limit == 0 and group ~= '' and joint.group == group and not redis.call('ZSCORE', key, who)
  end

  -- Whether there will never be room: it asks for more permits than there are, or the name is of the other kind by now.
  function self.never_fits(joint, permits, limit)
    return (limit > 0) ~= (joint.limit > 0) or (joint.limit > 0 and permits > joint.limit)
  end

  -- In how long a waiter may look again: when the last of those who share a lock ends, or the first permit comes back.
  function self.look_in(joint)
    local edge = joint.limit > 0 and redis.call('ZRANGE', key, '(0', '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
      or redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')
    return edge[2] and math.max(0, edge[2] - ts) or 0
  end

  return self
end
