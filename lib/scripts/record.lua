-- What a record says. Every verb reads whatever it may need before it writes: an error changes nothing.

local function is_kind(byte)
  return byte == @LOCK@ or byte == @SEMAPHORE@
end

local function is_joint(record)
  return record:byte(4) == 0
end

-- Whether this is a record that we can read.
local function is_record(text)
  local kind = text:byte(2)
  if #text < @HEADER_SIZE@ or text:byte(1) ~= @VERSION@ or not is_kind(kind) then
    return false
  end
  local fence, since, last, until_, _, _, _, delay = struct.unpack('<ddddHHc30d', text, @FENCE_OFFSET@ + 1)
  if not are_sound(fence, since, last, until_, delay) then
    return false
  end
  if not is_joint(text) then
    return kind == @LOCK@
  end
  if #text < @HEADER_SIZE@ + @JOINT_SIZE@ then
    return false
  end
  local used, limit, stands = struct.unpack('@JOINT@', text, @HEADER_SIZE@ + 1)
  return sound(used) and sound(limit) and sound(stands) and (limit > 0) == (kind == @SEMAPHORE@)
end

-- Why `record` cannot be read as one of `kind` (nil: of any that the verb knows), as an error reply; nil where it can or is
-- absent.
local function unreadable(record, key, kind)
  if not record or is_record(record) and (not kind or record:byte(2) == kind) then
    return nil
  end
  if #record >= @HEADER_SIZE@ and record:byte(1) > @VERSION@ then
    return redis.error_reply('BELAYVERSION key ' .. key .. ' was written by a newer version of Belay')
  end
  local kinds = { 'lock', 'semaphore', 'latch' }
  local other = #record > 2 and record:byte(1) == @VERSION@ and kinds[record:byte(2)]
  local wanted = kinds[kind or @LOCK@]
  if other and other ~= wanted then
    return redis.error_reply('BELAYTYPE key ' .. key .. ' holds a ' .. other .. ', not a ' .. wanted)
  end
  return redis.error_reply('BELAYTYPE key ' .. key .. ' does not hold a ' .. wanted)
end

local function is_claim(record, claim)
  return record:sub(4, 33) == claim
end

local function expires(record)
  return (struct.unpack('<d', record, @EXPIRES_OFFSET@ + 1))
end

-- Until when nobody else gets it.
local function kept_until(record)
  return expires(record) + struct.unpack('<d', record, @DELAY_OFFSET@ + 1)
end
