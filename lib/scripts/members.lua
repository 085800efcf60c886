-- Those who hold a name together.

-- What members do. Made only where they are needed, as closures cost. Fails where their keys hold something else, before anything
-- is written.
local function members(keys, at, ts)
  local self = {}
  redis.call('HGET', keys[at + 3], '')
  redis.call('ZSCORE', keys[at + 4], '')

  -- What several hold together, as its record says; nil where it does not stand.
  function self.read(record)
    if not record or not is_joint(record) then
      return nil
    end
    local used, limit = struct.unpack('@JOINT@', record, @HEADER_SIZE@ + 1)
    local fence = struct.unpack('<d', record, @FENCE_OFFSET@ + 1)
    return { used = used, limit = limit, fence = fence, group = record:sub(@HEADER_SIZE@ + @JOINT_SIZE@ + 1) }
  end

  -- Begins what several will hold together. A semaphore has a limit; those who share a lock are of one group, under one fence.
  function self.begin(fence, group, limit)
    local kind, nobody = limit > 0 and @SEMAPHORE@ or @LOCK@, '@NOBODY@'
    redis.call('SET', keys[at],
      struct.pack('@HEADER@', @VERSION@, kind, 0, nobody, fence, ts, fence, 0, 0, 0, nobody, 0)
        .. struct.pack('@JOINT@', 0, limit) .. group, 'PX', limit > 0 and @LIMIT_MS@ or @SWEEP_MS@)
    -- Left by a record that has lapsed or that somebody deleted. After the SET, which is refused where memory is full unless
    -- something was written.
    redis.call('DEL', keys[at + 3], keys[at + 4])
    return { used = 0, limit = limit, fence = fence, group = group }
  end

  local function count(joint, by)
    joint.used = joint.limit > 0 and math.max(0, joint.used + by) or redis.call('ZCARD', keys[at + 4])
    redis.call('SETRANGE', keys[at], @HEADER_SIZE@, struct.pack('<d', joint.used))
  end

  function self.set_limit(joint, limit)
    joint.limit = limit
    keep(keys[at], @LIMIT_MS@) -- first, as in prolong()
    redis.call('SETRANGE', keys[at], @HEADER_SIZE@ + 8, struct.pack('<d', limit))
  end

  -- A member; nil where there is none, or none that can be read.
  function self.find(who)
    local member = redis.call('HGET', keys[at + 3], who)
    if not member or #member < @MEMBER_SIZE@ or not redis.call('ZSCORE', keys[at + 4], who) then
      return nil
    end
    local epoch, fence, since, until_, delay, permits = struct.unpack('<dddddd', member)
    local fine = sound(epoch) and sound(fence) and sound(since) and sound(until_) and sound(delay) and sound(permits)
    return fine and { epoch = epoch, fence = fence, since = since, expires = until_, delay = delay, permits = permits } or nil
  end

  -- Writes a member's end. PEXPIRE goes first, as in prolong().
  function self.write(joint, who, member, info)
    local stands = math.ceil((member.expires + member.delay - ts) / 1000) + @SWEEP_MS@
    keep(keys[at], math.max(stands, joint.limit > 0 and @LIMIT_MS@ or 0))
    redis.call('ZADD', keys[at + 4], string.format('%.0f', member.expires + member.delay), who)
    redis.call('HSET', keys[at + 3], who,
      struct.pack('@MEMBER@', struct.pack('<d', member.epoch), member.fence, member.since, member.expires, member.delay,
        member.permits, member.holds, member.local_waiters) .. info)
    -- Texts and ends stand equally long: what one lists has its text in the other, which must not stay behind.
    stands = math.max(stands, redis.call('PTTL', keys[at + 3]))
    redis.call('PEXPIRE', keys[at + 3], stands)
    redis.call('PEXPIRE', keys[at + 4], stands)
  end

  -- The info text of a member that stands.
  function self.info(who)
    return redis.call('HGET', keys[at + 3], who):sub(@MEMBER_SIZE@ + 1)
  end

  -- Adds a member. Permits of a semaphore have a fence each; those who share a lock share its fence.
  function self.join(joint, who, member, highest, info)
    -- Whoever has seen a later fence than stands here comes after a loss of data.
    if joint.limit > 0 or highest > stored_fence(keys, at) then
      joint.fence = new_fence(keys, at, ts, highest, 0)
      redis.call('SETRANGE', keys[at], @FENCE_OFFSET@, struct.pack('<d', joint.fence))
    end
    member.fence, member.since = joint.fence, ts
    self.write(joint, who, member, info)
    count(joint, member.permits)
    return joint.fence
  end

  function self.drop(joint, who, permits)
    redis.call('ZREM', keys[at + 4], who)
    redis.call('HDEL', keys[at + 3], who)
    count(joint, -permits)
  end

  -- Drops whose leases have ended. Returns the joint hold, or nil where a lock was held by nobody else.
  function self.sweep(joint)
    local now_text = string.format('(%.0f', ts)
    for _, who in ipairs(redis.call('ZRANGE', keys[at + 4], '-inf', now_text, 'BYSCORE', 'LIMIT', 0, @SKIPS@)) do
      local member = self.find(who)
      self.drop(joint, who, member and member.permits or 1)
    end
    if redis.call('EXISTS', keys[at + 4]) == 1 then
      return joint
    end
    redis.call('DEL', keys[at + 3]) -- where a clock that stepped back let it live longer than the ends
    if joint.limit > 0 then
      if joint.used > 0 then -- some that could not be read had more than was counted
        count(joint, -joint.used)
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
    return limit == 0 and group ~= '' and joint.group == group and not redis.call('ZSCORE', keys[at + 4], who)
  end

  -- Whether there will never be room: it asks for more permits than there are, or the name is of the other kind by now.
  function self.never_fits(joint, permits, limit)
    return (limit > 0) ~= (joint.limit > 0) or (joint.limit > 0 and permits > joint.limit)
  end

  -- In how long a waiter may look again: when the last of those who share a lock ends, or the first permit comes back.
  function self.look_in(joint)
    local edge = joint.limit > 0 and redis.call('ZRANGE', keys[at + 4], 0, 0, 'WITHSCORES')
      or redis.call('ZREVRANGE', keys[at + 4], 0, 0, 'WITHSCORES')
    return edge[2] and math.max(0, edge[2] - ts) or 0
  end

  return self
end
